// Package policyresource offers the mode policy of ecosystems to MCP clients as the resource amof_policy, beside whatever resources there are.
//
// It only calls the tool amof_policy through the door, as the client itself could.
package policyresource

import (
	"context"

	"github.com/countersign-dev/countersign/adapters/mcp/mcpserver"
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

// Resources are an mcpserver.Resources: those of another one, and the policy.
type Resources struct {
	door  mcpserver.Door
	as    tool.Call
	inner mcpserver.Resources // may be nil
}

var _ mcpserver.Resources = Resources{}

// Served reports whether the door serves the tool this needs.
func Served(door mcpserver.Door) bool {
	for s := range door.Specs() {
		if s.Name == policy {
			return true
		}
	}
	return false
}

// Beside is the policy beside the resources of inner, which may be nil; as says on whose behalf it is read.
func Beside(inner mcpserver.Resources, door mcpserver.Door, as tool.Call) Resources {
	return Resources{door: door, as: as, inner: inner}
}

// List has the policy on its first page.
func (r Resources) List(ctx context.Context, cursor string) (page []mcpserver.Resource, next string, err error) {
	if r.inner != nil {
		page, next, err = r.inner.List(ctx, cursor)
	}
	if cursor == "" && err == nil {
		page = append(r.own(), page...)
	}
	return page, next, err
}

func (r Resources) own() []mcpserver.Resource {
	return []mcpserver.Resource{{URI: URI, Name: policy, Title: "Mode policy", MIMEType: "application/json",
		Description: "How every ecosystem tool is treated in ask, plan and execute, and how it is confirmed."}}
}

// Read is the policy as JSON, or what inner has.
func (r Resources) Read(ctx context.Context, uri string) (mcpserver.Content, error) {
	if uri != URI {
		if r.inner == nil {
			return mcpserver.Content{}, ErrUnknown
		}
		return r.inner.Read(ctx, uri)
	}
	call := r.as
	call.Tool = policy
	o := r.door.Call(ctx, call)
	if o.Err != nil {
		return mcpserver.Content{}, o.Err
	}
	return mcpserver.Content{MIMEType: "application/json", Text: string(present.For(o.Spec.Contract)(o).Body)}, nil
}

// Templates are inner's.
func (r Resources) Templates() []mcpserver.Resource {
	if r.inner == nil {
		return nil
	}
	return r.inner.Templates()
}

// Fixed are inner's, and the policy.
func (r Resources) Fixed() []mcpserver.Resource {
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
