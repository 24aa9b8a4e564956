package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// PolicyURI is the URI of the resource, and policy the tool that returns its content.
const (
	PolicyURI    = "countersign://ecosystems/policy"
	policyPolicy = "amof_policy"
)

// ErrUnknownResource is returned for any other resource, if there are no others.
var ErrUnknownResource = fault.New(fault.NotFound, "policy_resource_unknown", "the only resource here is "+PolicyURI)

// PolicyResources implements Resources: those of another one, and the policy.
type PolicyResources struct {
	core  Core
	as    string    // the client of every call made here, in the audit log
	inner Resources // may be nil
}

var _ Resources = PolicyResources{}

// ServesPolicy reports whether the core has enabled the required tool.
func ServesPolicy(core Core) bool {
	for s := range core.Specs() {
		if s.Name == policyPolicy {
			return true
		}
	}
	return false
}

// NewPolicyResources returns the policy in addition to the resources of inner, which may be nil. Calls for it run as their caller; as.Client is their
// client name in the audit log, or that of the caller if it is empty.
func NewPolicyResources(inner Resources, core Core, as tool.Call) PolicyResources {
	return PolicyResources{core: core, as: as.Client, inner: inner}
}

// List returns inner's resources, with the policy on the first page.
func (r PolicyResources) List(ctx context.Context, by Caller, cursor string) (page []Resource, next string, err error) {
	if r.inner != nil {
		page, next, err = r.inner.List(ctx, by, cursor)
	}
	if cursor == "" && err == nil {
		page = append(r.own(), page...)
	}
	return page, next, err
}

func (r PolicyResources) own() []Resource {
	return []Resource{{URI: PolicyURI, Name: policyPolicy, Tool: policyPolicy, Title: "Mode policy", MIMEType: "application/json",
		Description: "What ask, plan and execute mean for every ecosystem tool, and how each is confirmed."}}
}

// Read returns the policy as JSON, or a resource of inner.
func (r PolicyResources) Read(ctx context.Context, by Caller, uri string) (Content, error) {
	if uri != PolicyURI {
		if r.inner == nil {
			return Content{}, ErrUnknownResource
		}
		return r.inner.Read(ctx, by, uri)
	}
	call := by.Call(policyPolicy, nil)
	if r.as != "" {
		call.Client = r.as
	}
	o := r.core.Call(ctx, call)
	if o.Err != nil {
		return Content{}, o.Err
	}
	return Content{MIMEType: "application/json", Text: string(present.For(o.Spec.Contract)(o).Body)}, nil
}

// Templates returns those of inner.
func (r PolicyResources) Templates() []Resource {
	if r.inner == nil {
		return nil
	}
	return r.inner.Templates()
}

// Fixed returns those of inner, and the policy.
func (r PolicyResources) Fixed() []Resource {
	if r.inner == nil {
		return r.own()
	}
	return append(r.own(), r.inner.Fixed()...)
}

// Watch watches inner: the policy does not change.
func (r PolicyResources) Watch(changed func(uri string)) {
	if r.inner != nil {
		r.inner.Watch(changed)
	}
}
