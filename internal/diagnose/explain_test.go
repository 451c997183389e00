package diagnose

import (
	"sync"

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

// program is what the program knows, read once for all tests: it takes some 100 ms.
var program = sync.OnceValue(func() (in Input) {
	var err error
	if in.Catalogue, err = messages.Load(); err != nil {
		panic(err)
	}
	if in.Causes, err = causes.Load(); err != nil {
		panic(err)
	}
	return in
})

func informed(in Input) Input {
	in.Catalogue, in.Causes = program().Catalogue, program().Causes
	return in
}
