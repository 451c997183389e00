package vcenter

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// taskError is a task that ended with an error.
type taskError struct{ fault types.LocalizedMethodFault }

func (e *taskError) Error() string { return faultText(e.fault.Fault, e.fault.LocalizedMessage) }

// Fault makes it one of the library's errors.
func (e *taskError) Fault() types.BaseMethodFault { return e.fault.Fault }

// wait looks at a task until it is over. A task whose time is over is asked to stop, so that nothing goes on unseen; a connection
// that is lost in between is waited for.
func (c *Client) wait(ctx context.Context, what string, task types.ManagedObjectReference, most time.Duration) error {
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		f, err := c.object(bounded, what, task, "info")
		if err == nil {
			if t, ok := f.value.(mo.Task); ok {
				switch t.Info.State {
				case types.TaskInfoStateSuccess:
					return nil
				case types.TaskInfoStateError:
					if t.Info.Error == nil {
						return &Error{Kind: Fault, What: what, Text: "the task failed, and vCenter does not say why"}
					}
					return c.problem(what, &taskError{fault: *t.Info.Error})
				}
			}
		} else if !Is(err, NoAnswer) {
			return err
		}
		if !sleep(bounded, c.poll) {
			return c.abandon(ctx, what, task, most)
		}
	}
}

// abandon stops a task.
func (c *Client) abandon(ctx context.Context, what string, task types.ManagedObjectReference, most time.Duration) error {
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	_, err := methods.CancelTask(stop, c.vim, &types.CancelTask{This: task})
	why := "is not done after " + most.String()
	if ctx.Err() != nil {
		why = "was not waited for: this program was asked to stop"
	}
	if err != nil {
		return &Error{Kind: NoAnswer, What: what, Text: why + ", and its task " + task.Value + " could not be stopped: it may go on", cause: ctx.Err()}
	}
	return &Error{Kind: NoAnswer, What: what, Text: why + "; its task was asked to stop", cause: ctx.Err()}
}

// until looks again and again; the error of the last look is kept, for people.
func (c *Client) until(ctx context.Context, what, goal string, most time.Duration, done func(context.Context) (bool, error)) error {
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	last := ""
	for {
		ok, err := done(bounded)
		switch {
		case ok:
			return nil
		case err != nil && !Is(err, NoAnswer):
			return err
		case err != nil && bounded.Err() == nil:
			last = "; last: " + err.Error()
		}
		if !sleep(bounded, c.poll) {
			return &Error{Kind: NoAnswer, What: what, Text: "does not " + goal + " within " + most.String() + last, cause: ctx.Err()}
		}
	}
}
