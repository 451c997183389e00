package vcenter

import (
	"fmt"
	"io"
	"net/http"
)

// limited gives no answer more memory than mostAnswer. The library reads an answer to its end, whatever its length.
type limited struct{ *http.Transport }

// RoundTrip asks, and counts what is read of the answer.
func (l limited) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := l.Transport.RoundTrip(q)
	if err == nil {
		answer.Body = &counted{ReadCloser: answer.Body, left: mostAnswer}
	}
	return answer, err
}

// counted is the body of an answer of which so many bytes may still be read.
type counted struct {
	io.ReadCloser
	left int64
}

// Read ends with an error, not as if the answer had ended, where there is more than may be read.
func (c *counted) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, fmt.Errorf("it is longer than %d MiB", mostAnswer>>20)
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left+1)])
	if c.left -= int64(n); c.left < 0 {
		return n - 1, fmt.Errorf("it is longer than %d MiB", mostAnswer>>20)
	}
	return n, err
}
