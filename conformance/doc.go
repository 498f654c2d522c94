// Package conformance plays answers recorded from Apache Spark: streaming scenarios (scenarios/<area>/, and
// those of our own in further/<area>/), SQL expressions (expressions/) and texts (text/). Nothing here but
// tests; an answer is never edited by hand.
//
//	go test ./conformance                                  every recorded scenario and expression
//	go test ./conformance -run Scenarios/eventtime         one area
//	go test -v ./conformance -args -dir PATH               another folder of scenarios, absolute
//	go test -v ./conformance -args -expressions PATH       another folder of expressions, absolute
//
// exceptions.txt lists what does not pass yet, with a reason; a listed one that passes fails the test.
package conformance
