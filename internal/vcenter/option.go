package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// SetOption sets an advanced setting of a host: see SetOptions.
func (c *Client) SetOption(ctx context.Context, host, name, value string) (before map[string]string, err error) {
	return c.SetOptions(ctx, host, map[string]string{name: value})
}

// SetOptions sets advanced settings of a host, all in one question: VMkernel.Boot.disableACSCheck, Power.CpuPolicy. Values are
// written as esxcli writes them; each gets the type that the present one has. It refuses a name that the host does not have:
// some hosts would keep it silently. Before has the former values of those that changed. Boot options are in force after
// the next start of the host.
func (c *Client) SetOptions(ctx context.Context, host string, wanted map[string]string) (before map[string]string, err error) {
	d, err := c.detail(ctx, host)
	if err != nil {
		return nil, err
	}
	what := "host " + d.Name
	if !d.Connected() {
		return nil, refuse(what, "is %s: vCenter does not reach it", d.State)
	}
	if d.options == nil {
		return nil, unknown(what, "its advanced settings could not be read")
	}
	before = map[string]string{}
	var changes []types.BaseOptionValue
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		now, err := c.option(ctx, what, *d.options, name)
		if err != nil {
			return nil, err
		}
		value, err := sameType(now, wanted[name])
		if err != nil {
			return nil, refuse(what, "setting %s: %v", name, err)
		}
		if value == now {
			continue
		}
		before[name] = settingText(now)
		changes = append(changes, &types.OptionValue{Key: name, Value: value})
	}
	if len(changes) == 0 {
		return before, nil
	}
	if _, err := methods.UpdateOptions(ctx, c.vim, &types.UpdateOptions{This: *d.options, ChangedValue: changes}); err != nil {
		return nil, c.problem(what, err)
	}
	for _, change := range changes {
		v := change.GetOptionValue()
		now, err := c.option(ctx, what, *d.options, v.Key)
		if err != nil {
			return before, err
		}
		if now != v.Value {
			return before, &Error{Kind: Fault, What: what, Text: fmt.Sprintf("said that it set %s to %s, and has %s", v.Key, settingText(v.Value), settingText(now))}
		}
	}
	return before, nil
}

// Options reads advanced settings of a host. One that the host does not have is an error of kind NotFound.
func (c *Client) Options(ctx context.Context, host string, names ...string) (map[string]string, error) {
	d, err := c.detail(ctx, host)
	if err != nil {
		return nil, err
	}
	if d.options == nil {
		return nil, unknown("host "+d.Name, "its advanced settings could not be read")
	}
	out := map[string]string{}
	for _, name := range names {
		v, err := c.option(ctx, "host "+d.Name, *d.options, name)
		if err != nil {
			return nil, err
		}
		out[name] = settingText(v)
	}
	return out, nil
}

// option is the value of one setting; the server is asked by a prefix, and answers with all that begin so.
func (c *Client) option(ctx context.Context, what string, manager types.ManagedObjectReference, name string) (types.AnyType, error) {
	none := &Error{Kind: NotFound, What: what, Text: "this version of ESX has no setting " + name}
	answer, err := methods.QueryOptions(ctx, c.vim, &types.QueryOptions{This: manager, Name: name})
	if err != nil {
		if f, _ := faultOf(err); f != nil && faultName(f) == "InvalidName" {
			return nil, none
		}
		return nil, c.problem(what, err)
	}
	for _, o := range answer.Returnval {
		if o.GetOptionValue().Key == name {
			return o.GetOptionValue().Value, nil
		}
	}
	return nil, none
}

// sameType is a text as a value of the type of another one: a host refuses a number of another width.
func sameType(now types.AnyType, text string) (types.AnyType, error) {
	number := func(bits int) (int64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number of %d bits", text, bits)
		}
		return n, nil
	}
	switch now.(type) {
	case bool:
		switch strings.ToLower(text) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not TRUE or FALSE", text)
	case int64:
		return number(64)
	case int32:
		n, err := number(32)
		return int32(n), err
	case int16:
		n, err := number(16)
		return int16(n), err
	case string:
		return text, nil
	}
	return nil, fmt.Errorf("its value is a %T, which this program does not set", now)
}
