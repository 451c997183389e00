// Package claims reads what Kubernetes' Dynamic Resource Allocation works on (ResourceSlices, DeviceClasses,
// ResourceClaims and their templates, of any API version), allocates claims with the scheduler's own allocator, says
// which GPUs and NICs of a pod share a PCIe root, and explains claims that cannot be met. It does no input or output.
//
// Kubernetes' types stay inside: what is exported is plain. The allocator is outside Kubernetes' promise of
// compatibility and is called in structured.go only.
package claims
