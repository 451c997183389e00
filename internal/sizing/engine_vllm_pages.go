package sizing

import "math"

// vllmCache is how vLLM pages the cache of a stage: layers of a kind form groups of equal size that share one pool,
// and a block of the pool is a page in each layer of a group (v1/core/kv_cache_utils.py).
type vllmCache struct {
	page   float64 // bytes of a block, all layers of a group
	block  int64   // tokens of a page of an attention layer
	full   int     // groups of layers that keep all of the past
	window int     // groups of layers with a window
	state  int     // groups of layers with a fixed state
	width  int64   // of the window, tokens
}

// groups is all of them.
func (c vllmCache) groups() int { return c.full + c.window + c.state }

// need is the blocks of one request: every group holds its own. A window holds one block more than its tokens, as
// it need not begin with a block.
func (c vllmCache) need(s setting, tokens int64) float64 {
	if c.block == 0 {
		return 0
	}
	n := float64(c.full) * float64(ceilDiv(tokens, c.block))
	if c.window > 0 {
		_, batch := vllmBatch(s)
		held := min(tokens, c.width-1+batch) // the tokens of a prefill step are there with the window
		n += float64(c.window) * float64(min(ceilDiv(held, c.block)+1, ceilDiv(tokens, c.block)))
	}
	return n + float64(c.state)
}

// blockTokens is --block-size on GPUs.
const blockTokens = 16

// vllmPages groups the layers of a stage.
func vllmPages(s setting, st Shard) vllmCache {
	c := vllmCache{block: blockTokens, width: windowOf(s.model)}
	var full, window, state int
	var bytes, stateBytes float64
	for _, l := range s.model.Layers[st.First:st.End] {
		a := l.Attention
		per := a.PerToken(int64(s.spread.attn), s.kv)
		switch {
		case per > 0 && a.Window > 0:
			window++
		case per > 0:
			full++
		case a.StatePerRequest(int64(s.spread.attn)) > 0:
			state++
			stateBytes += a.StatePerRequest(int64(s.spread.attn))
		}
		bytes += per
	}
	attention := full + window
	if attention == 0 {
		if state > 0 {
			c.page, c.state = stateBytes, 1
		}
		return c
	}
	layer := bytes / float64(attention) // groups share pages, so layers count alike
	if state > 0 {                      // a page of attention is made as large as a state
		c.block = int64(math.Ceil(stateBytes/float64(state)/layer/blockTokens)) * blockTokens
	}
	size := groupSize(full, window, state)
	c.full, c.window, c.state = parts(full, size), parts(window, size), parts(state, size)
	c.page = layer * float64(c.block) * float64(min(size, max(full, window, state)))
	return c
}

// groupSize is the number of layers of a group: the fewest of a kind; one kind only is one group.
func groupSize(counts ...int) int {
	size := 0
	for _, n := range counts {
		if n > 0 && (size == 0 || n < size) {
			size = n
		}
	}
	return max(1, size)
}

func parts(n, size int) int { return (n + size - 1) / size }

// vllmTokens fills tokens as printed, and what they are good for: printed are the blocks of one group times their
// tokens, with linear attention a part of the real capacity; from 0.33 on requests of full length times that length.
func vllmTokens(s setting, d *division, c vllmCache, pages int64) {
	if c.block == 0 || pages <= 0 || c.groups() == 0 {
		return
	}
	d.kv = int64(float64(pages) * c.page)
	need := c.need(s, s.context)
	d.requests = float64(pages) / need * float64(s.layout.DP)
	d.tokens = pages / int64(c.groups()) * c.block
	d.capacity = int64(float64(pages) / need * float64(s.context))
	if s.version.at(0, 33, 0) {
		d.tokens = d.capacity
	}
	d.longest = longest(s, c, pages)
	d.cell = c.page / float64(c.block) * float64(c.groups())
}

// longest is the tokens of the longest request that the pages hold alone.
func longest(s setting, c vllmCache, pages int64) int64 {
	if c.full == 0 {
		return s.model.Context
	}
	low, high := int64(0), pages*c.block
	for low < high {
		mid := (low + high + 1) / 2
		if c.need(s, mid) <= float64(pages) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
