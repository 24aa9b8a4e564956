// Package policyresource offers the mode policy of ecosystems to MCP clients as the resource amof_policy, beside whatever resources there are.
//
// It only calls the tool amof_policy through the door, as the client itself could.
package policyresource

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/caller"
	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver/offers"
	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/tool"
)

// URI is the resource's, and policy the tool whose answer it is.
const (
	URI    = "countersign://ecosystems/policy"
	policy = "amof_policy"
)

// ErrUnknown reports a resource that is not this one, where there are no others.
var ErrUnknown = fault.New(fault.NotFound, "policy_resource_unknown", "the only resource here is "+URI)

// Resources are an offers.Resources: those of another one, and the policy.
type Resources struct {
	door  mcpserver.Door
	as    string           // the client of every call made here, in the audit
	inner offers.Resources // may be nil
}

var _ offers.Resources = Resources{}

// Served reports whether the door serves the tool this needs.
func Served(door mcpserver.Door) bool {
	for s := range door.Specs() {
		if s.Name == policy {
			return true
		}
	}
	return false
}

// Beside is the policy beside the resources of inner, which may be nil. The Client of as is the one under which calls for it stand in the audit;
// empty is that of who asks, on whose behalf they are made in any case.
func Beside(inner offers.Resources, door mcpserver.Door, as tool.Call) Resources {
	return Resources{door: door, as: as.Client, inner: inner}
}

// List has the policy on its first page.
func (r Resources) List(ctx context.Context, by caller.Caller, cursor string) (page []offers.Resource, next string, err error) {
	if r.inner != nil {
		page, next, err = r.inner.List(ctx, by, cursor)
	}
	if cursor == "" && err == nil {
		page = append(r.own(), page...)
	}
	return page, next, err
}

func (r Resources) own() []offers.Resource {
	return []offers.Resource{{URI: URI, Name: policy, Tool: policy, Title: "Mode policy", MIMEType: "application/json",
		Description: "How every ecosystem tool is treated in ask, plan and execute, and how it is confirmed."}}
}

// Read is the policy as JSON, or what inner has.
func (r Resources) Read(ctx context.Context, by caller.Caller, uri string) (offers.Content, error) {
	if uri != URI {
		if r.inner == nil {
			return offers.Content{}, ErrUnknown
		}
		return r.inner.Read(ctx, by, uri)
	}
	call := by.Call(policy, nil)
	if r.as != "" {
		call.Client = r.as
	}
	o := r.door.Call(ctx, call)
	if o.Err != nil {
		return offers.Content{}, o.Err
	}
	return offers.Content{MIMEType: "application/json", Text: string(present.For(o.Spec.Contract)(o).Body)}, nil
}

// Templates are inner's.
func (r Resources) Templates() []offers.Resource {
	if r.inner == nil {
		return nil
	}
	return r.inner.Templates()
}

// Fixed are inner's, and the policy.
func (r Resources) Fixed() []offers.Resource {
	if r.inner == nil {
		return r.own()
	}
	return append(r.own(), r.inner.Fixed()...)
}

// Watch is inner's: the policy does not change.
func (r Resources) Watch(changed func(uri string)) {
	if r.inner != nil {
		r.inner.Watch(changed)
	}
}
