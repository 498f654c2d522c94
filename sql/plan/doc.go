// Package plan gives SQL its meaning. Analyze resolves a syntax tree against a catalog, from the leaves up,
// to a tree of logical nodes whose expressions are typed and bound: every expr.Column names a position of
// the child's schema. Optimize rewrites the tree with a short list of named rules until nothing changes.
// CheckStreaming says whether a streaming query of an output mode may run the tree, in Spark's conditions.
//
// Bound positions make the tree easy to execute and a little harder to rewrite: a rule that changes what
// a child yields must move the positions of its parent, which shift.go does.
package plan
