package diagnose

import (
	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// explain explains results with the catalogue of messages and the causes of the program, which are compiled in.
func explain(results []fabric.Result, in Input) *fabric.Explanation {
	x, err := Explain(results, informed(in))
	if err != nil {
		panic(err)
	}
	return x
}

func informed(in Input) Input {
	var err error
	if in.Catalogue, err = messages.Load(); err != nil {
		panic(err)
	}
	if in.Causes, err = causes.Load(); err != nil {
		panic(err)
	}
	return in
}
