package serving

import "fmt"

// Workload is a kind of request.
type Workload struct {
	Name   string
	Input  int64 // tokens of the prompt
	Output int64 // tokens of the answer
}

// Workloads are the four of the VMware document, 11.2.
func Workloads() []Workload {
	return []Workload{
		{Name: "short translation", Input: 200, Output: 200},
		{Name: "medium translation", Input: 1000, Output: 1000},
		{Name: "generation", Input: 500, Output: 2000},
		{Name: "summarization", Input: 5000, Output: 500},
	}
}

// Concurrencies are requests at the same time for which performance is given: the document's figures run from 1
// to 125.
func Concurrencies() []int { return []int{1, 2, 5, 10, 25, 50, 75, 100, 125} }

// maxTokens bounds what a workload may request: the longest published context is 10 million tokens.
const maxTokens = 1 << 30

func (w Workload) check() error {
	if w.Input < 1 || w.Input > maxTokens {
		return fmt.Errorf("workload %q: input_tokens %d: must be from 1 to %d", w.Name, w.Input, maxTokens)
	}
	if w.Output < 1 || w.Output > maxTokens {
		return fmt.Errorf("workload %q: output_tokens %d: must be from 1 to %d", w.Name, w.Output, maxTokens)
	}
	return nil
}

// held is the tokens of KV that a running request holds on average: its prompt and half of its answer.
func (w Workload) held() float64 { return float64(w.Input) + float64(w.Output)/2 }
