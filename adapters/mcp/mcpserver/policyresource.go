package mcpserver

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// URI is the resource's, and policy the tool whose answer it is.
const (
	PolicyURI    = "countersign://ecosystems/policy"
	policyPolicy = "amof_policy"
)

// ErrUnknownResource reports a resource that is not this one, where there are no others.
var ErrUnknownResource = fault.New(fault.NotFound, "policy_resource_unknown", "the only resource here is "+PolicyURI)

// PolicyResources are an offers.Resources: those of another one, and the policy.
type PolicyResources struct {
	core  Door
	as    string    // the client of every call made here, in the audit
	inner Resources // may be nil
}

var _ Resources = PolicyResources{}

// ServesPolicy reports whether the core has enabled the tool that this needs.
func ServesPolicy(core Door) bool {
	for s := range core.Specs() {
		if s.Name == policyPolicy {
			return true
		}
	}
	return false
}

// NewPolicyResources returns the policy beside the resources of inner, which may be nil. The Client of as is the one under which calls for it stand in the audit;
// empty is that of who asks, on whose behalf they are made in any case.
func NewPolicyResources(inner Resources, core Door, as tool.Call) PolicyResources {
	return PolicyResources{core: core, as: as.Client, inner: inner}
}

// List has the policy on its first page.
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
		Description: "How every ecosystem tool is treated in ask, plan and execute, and how it is confirmed."}}
}

// Read returns the policy as JSON, or what inner has.
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

// Templates are inner's.
func (r PolicyResources) Templates() []Resource {
	if r.inner == nil {
		return nil
	}
	return r.inner.Templates()
}

// Fixed are inner's, and the policy.
func (r PolicyResources) Fixed() []Resource {
	if r.inner == nil {
		return r.own()
	}
	return append(r.own(), r.inner.Fixed()...)
}

// Watch is inner's: the policy does not change.
func (r PolicyResources) Watch(changed func(uri string)) {
	if r.inner != nil {
		r.inner.Watch(changed)
	}
}
