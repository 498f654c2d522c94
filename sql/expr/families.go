package expr

// functionFamilies lists the families of functions that live in files of their own. A family is a function
// so that its builders may look up other functions without an initialisation cycle.
func functionFamilies() [][]Function {
	return [][]Function{
		stringFunctions(), encodeFunctions(), urlFunctions(), regexFunctions(), datetimeFunctions(), mathFunctions(), hashFunctions(), miscFunctions(), collectionFunctions(), mapFunctions(), higherOrderFunctions(), jsonFunctions(), csvFunctions(), formatFunctions(), variantFunctions(), generatorFunctions(), aesFunctions(), collateFunctions(),
		vectorFunctions(), timeOfDayFunctions(), xpathFunctions(), xmlFunctions(), distinctSketchFunctions(), countMinFunctions(), variantSchemaFunctions(), refusedFunctions(),
	}
}
