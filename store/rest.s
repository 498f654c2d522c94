// rest.go declares functions without a body; the compiler allows that in packages with assembly.
