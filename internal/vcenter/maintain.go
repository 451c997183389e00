package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Maintenance is how a host goes into maintenance mode, or out of it.
type Maintenance struct {
	Mine    bool          // the caller knows that it put the host there, from what it wrote down; else vCenter's events have to say so
	Timeout time.Duration // 0: half an hour
}

const (
	defaultMaintenance = 30 * time.Minute // virtual machines move away first
	defaultReboot      = 45 * time.Minute // a server with 2 TB of memory tests it for a quarter of an hour, and cards load firmware
)

func (m Maintenance) timeout() time.Duration {
	if m.Timeout > 0 {
		return m.Timeout
	}
	return defaultMaintenance
}

// EnterMaintenance puts a host into maintenance mode. It refuses a host that somebody else put there, and one on which a virtual
// machine runs with a device of the host: such a machine cannot move, and vCenter would wait for it without end. Changed is
// false where the host was in maintenance mode by this user.
func (c *Client) EnterMaintenance(ctx context.Context, host string, how Maintenance) (changed bool, err error) {
	d, err := c.detail(ctx, host)
	if err != nil {
		return false, err
	}
	what := "host " + d.Name
	if err := d.mayMaintain(what); err != nil {
		return false, err
	}
	if *d.ESX.Maintenance {
		return false, c.holdsMaintenance(ctx, &d.Host, how)
	}
	var stuck []string
	for _, m := range d.machines {
		if m.Power != powerOff && (len(m.Devices) > 0 || !m.readable) {
			stuck = append(stuck, m.Name)
		}
	}
	if len(stuck) > 0 {
		return false, refuse(what, "virtual machines that run with devices of the host cannot move away, and have to be shut down first: %s", strings.Join(stuck, ", "))
	}
	off := false
	answer, err := methods.EnterMaintenanceMode_Task(ctx, c.vim, &types.EnterMaintenanceMode_Task{This: d.reference(), Timeout: int32(how.timeout() / time.Second), EvacuatePoweredOffVms: &off})
	if err != nil {
		return false, c.problem(what, err)
	}
	if err := c.wait(ctx, what, answer.Returnval, how.timeout()+time.Minute); err != nil {
		return false, err
	}
	return true, c.verifyMaintenance(ctx, &d.Host, true)
}

// LeaveMaintenance takes a host out of maintenance mode, unless somebody else put it there.
func (c *Client) LeaveMaintenance(ctx context.Context, host string, how Maintenance) (changed bool, err error) {
	h, err := c.find(ctx, host)
	if err != nil {
		return false, err
	}
	what := "host " + h.Name
	if err := h.mayMaintain(what); err != nil {
		return false, err
	}
	if !*h.ESX.Maintenance {
		return false, nil
	}
	if err := c.holdsMaintenance(ctx, h, how); err != nil {
		return false, err
	}
	answer, err := methods.ExitMaintenanceMode_Task(ctx, c.vim, &types.ExitMaintenanceMode_Task{This: h.reference(), Timeout: int32(how.timeout() / time.Second)})
	if err != nil {
		return false, c.problem(what, err)
	}
	if err := c.wait(ctx, what, answer.Returnval, how.timeout()+time.Minute); err != nil {
		return false, err
	}
	return true, c.verifyMaintenance(ctx, h, false)
}

func (h *Host) mayMaintain(what string) error {
	if !h.Connected() {
		return refuse(what, "is %s: vCenter does not reach it", h.State)
	}
	if h.ESX.Maintenance == nil {
		return unknown(what, "whether it is in maintenance mode could not be read")
	}
	return nil
}

func (c *Client) verifyMaintenance(ctx context.Context, h *Host, want bool) error {
	again, err := c.now(ctx, h)
	if err != nil {
		return err
	}
	if again.ESX.Maintenance == nil || *again.ESX.Maintenance != want {
		return &Error{Kind: Fault, What: "host " + h.Name, Text: fmt.Sprintf("the task is over, and in maintenance mode: %s", boolText(again.ESX.Maintenance))}
	}
	return nil
}

func boolText(b *bool) string {
	switch {
	case b == nil:
		return "unknown"
	case *b:
		return "yes"
	}
	return "no"
}

// holdsMaintenance refuses a host in maintenance mode that is not known to be there by this user.
func (c *Client) holdsMaintenance(ctx context.Context, h *Host, how Maintenance) error {
	if how.Mine {
		return nil
	}
	what := "host " + h.Name
	user, at, err := c.MaintenanceBy(ctx, h)
	switch {
	case err != nil:
		return unknown(what, "is in maintenance mode, and who put it there could not be read: %v", err)
	case user == "":
		return unknown(what, "is in maintenance mode, and vCenter has no event that says who put it there")
	case !strings.EqualFold(user, c.User()):
		return refuse(what, "is in maintenance mode since %s by %s", at.UTC().Format(time.RFC3339), user)
	}
	return nil
}

// MaintenanceBy is who put a host into maintenance mode the last time, and when. Empty: vCenter has no event of it.
func (c *Client) MaintenanceBy(ctx context.Context, h *Host) (string, time.Time, error) {
	manager := c.vim.ServiceContent.EventManager
	if manager == nil {
		return "", time.Time{}, nil
	}
	answer, err := methods.QueryEvents(ctx, c.vim, &types.QueryEvents{This: *manager, Filter: types.EventFilterSpec{
		Entity:      &types.EventFilterSpecByEntity{Entity: h.reference(), Recursion: types.EventFilterSpecRecursionOptionSelf},
		EventTypeId: []string{"EnteredMaintenanceModeEvent"}}})
	if err != nil {
		return "", time.Time{}, c.problem("host "+h.Name, err)
	}
	events := answer.Returnval
	if len(events) == 0 {
		return "", time.Time{}, nil
	}
	last := slices.MaxFunc(events, func(a, b types.BaseEvent) int { return a.GetEvent().CreatedTime.Compare(b.GetEvent().CreatedTime) })
	return last.GetEvent().UserName, last.GetEvent().CreatedTime, nil
}

// sameBoot is how far the boot times of one start may be apart: a host computes it from its clock, which is set right meanwhile.
const sameBoot = 30 * time.Second

// Reboot starts a host again and waits until vCenter has it back, still in maintenance mode. Boot is its boot time as the caller
// read and wrote it down before: a host that has started since is not started once more, so that a caller that was stopped in
// between asks the same again. It returns the new boot time.
func (c *Client) Reboot(ctx context.Context, host string, boot time.Time, most time.Duration) (time.Time, error) {
	h, err := c.find(ctx, host)
	if err != nil {
		return time.Time{}, err
	}
	what := "host " + h.Name
	if boot.IsZero() {
		return time.Time{}, unknown(what, "when it started the last time is not given: whether it started again could not be seen")
	}
	if most <= 0 {
		most = defaultReboot
	}
	if !c.startedAfter(h, boot) {
		if err := c.askReboot(ctx, h); err != nil {
			return time.Time{}, err
		}
	}
	var back time.Time
	err = c.until(ctx, what, "come back", most, func(ctx context.Context) (bool, error) {
		again, err := c.now(ctx, h)
		if err != nil {
			return false, err
		}
		back = again.Boot
		return again.Connected() && c.startedAfter(again, boot) && again.ESX.Maintenance != nil, nil
	})
	return back, err
}

func (c *Client) startedAfter(h *Host, boot time.Time) bool { return h.Boot.Sub(boot) > sameBoot }

// askReboot asks for the start, if the host may be started.
func (c *Client) askReboot(ctx context.Context, h *Host) error {
	what := "host " + h.Name
	switch {
	case h.State == string(types.HostSystemConnectionStateNotResponding):
		return nil // on its way down, or down: it is waited for
	case !h.Connected():
		return refuse(what, "is %s: vCenter does not reach it", h.State)
	case h.Boot.IsZero():
		return unknown(what, "when it started the last time could not be read")
	case h.ESX.Maintenance == nil || !*h.ESX.Maintenance:
		return refuse(what, "is not in maintenance mode")
	}
	d, err := c.detailOf(ctx, h)
	if err != nil {
		return err
	}
	for _, m := range d.machines {
		if m.Power != powerOff {
			return refuse(what, "virtual machine %s is on it, power %s", m.Name, m.Power)
		}
	}
	answer, err := methods.RebootHost_Task(ctx, c.vim, &types.RebootHost_Task{This: h.reference(), Force: false})
	if err != nil {
		return c.problem(what, err)
	}
	return c.wait(ctx, what, answer.Returnval, defaultMaintenance)
}
