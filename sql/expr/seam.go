package expr

func aggregateFunctions() []Function { return nil }
