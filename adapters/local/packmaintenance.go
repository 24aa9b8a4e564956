package local

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/control"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/packport"
)

// Upkeep is the toolset of repairs that the user runs with countersign pack doctor. It must be enabled explicitly.
const Upkeep = "upkeep"

// The typed handles of the upkeep tools.
var (
	InspectPacks   = tool.Ref[control.NoInput, PackDamage]{Name: "inspect_pack_store"}
	QuarantinePack = tool.Ref[QuarantineInput, QuarantineAnswer]{Name: "quarantine_pack_file"}
)

// PackDamage is every file of the pack store that is no readable pack, and every one in which a reader would not see everything.
type PackDamage struct {
	Count   int           `json:"count"`
	Damaged []DamagedFile `json:"damaged"`
	Hidden  []HiddenFile  `json:"hidden,omitempty"`
}

// HiddenFile is a file of the store in which a reader would not see everything. It is a pack all the same.
type HiddenFile struct {
	File string `json:"file"`
	What string `json:"what"`
}

// DamagedFile is one of them.
type DamagedFile struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	Schema bool   `json:"other_schema_version"`
}

// QuarantineInput names a file that inspect_pack_store lists.
type QuarantineInput struct {
	File string `json:"file" jsonschema:"minLength=1,description=as inspect_pack_store lists it"`
}

// QuarantineAnswer says where the file is now.
type QuarantineAnswer struct {
	File  string `json:"file"`
	Moved string `json:"moved_to"`
}

// The published input schemas, as the types derive them. Deriving them at every start would hold up the first answer.
const (
	inspectSchema    = `{"properties":{},"additionalProperties":false,"type":"object"}`
	quarantineSchema = `{"properties":{"file":{"type":"string","minLength":1,"description":"as inspect_pack_store lists it"}},"additionalProperties":false,"type":"object","required":["file"]}`
)

// upkeep returns the toolset over a pack store. Nothing in it deletes.
func upkeep(d checked) tool.Capability {
	u := doctor{d}
	return tool.Capability{Name: Upkeep, Contract: control.Contract, Mode: policy.Execute, UsesWorkingDir: true, Entries: []tool.Entry{
		bind.Query(InspectPacks, tool.Spec{Title: "Inspect the pack store", Class: policy.ClassRead, Effects: policy.Read, Input: json.RawMessage(inspectSchema),
			Description: "List the files of the pack store that are not readable packs, with the problem of each."}, u.inspect),
		bind.Command(QuarantinePack, tool.Spec{Title: "Set a pack file aside", Class: policy.ClassWrite, Effects: policy.Read | policy.Write, Confirm: policy.Simple, Human: policy.Simple,
			Input:       json.RawMessage(quarantineSchema),
			Description: "Move a damaged file out of the pack store, into its quarantine directory. Nothing is deleted."}, u.plan, u.quarantine),
	}}
}

// checked is a store that can be examined.
type checked interface {
	packport.Doctor
	packport.Reviewer
}

type doctor struct{ checked }

func (d doctor) inspect(ctx context.Context, _ tool.Scope, _ control.NoInput) (PackDamage, error) {
	found, err := d.Inspect(ctx)
	out := PackDamage{Count: len(found), Damaged: []DamagedFile{}}
	for _, f := range found {
		out.Damaged = append(out.Damaged, DamagedFile(f))
	}
	if err != nil {
		return out, err
	}
	hidden, err := d.Hidden(ctx)
	for _, f := range hidden {
		out.Hidden = append(out.Hidden, HiddenFile(f))
	}
	return out, err
}

// aside is the plan to set one file aside.
type aside struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	hash   canon.Hash
}

// Hash returns the canonical sum of file and reason.
func (a aside) Hash() canon.Hash { return a.hash }

// Prompt returns one line for the user who is asked.
func (a aside) Prompt() string { return "set " + a.File + " aside" }

func (d doctor) plan(ctx context.Context, _ tool.Scope, in QuarantineInput) (aside, error) {
	found, err := d.Inspect(ctx)
	if err != nil {
		return aside{}, err
	}
	for _, f := range found {
		if f.File == in.File || filepath.Base(f.File) == in.File {
			a := aside{File: f.File, Reason: f.Reason}
			a.hash, err = canon.Sum("upkeep.quarantine.v1", a)
			return a, err
		}
	}
	return aside{}, packport.ErrHealthy.WithMessage("%s is not among the damaged pack files; countersign pack doctor lists them", in.File)
}

func (d doctor) quarantine(ctx context.Context, _ tool.Scope, a aside) (QuarantineAnswer, error) {
	moved, err := d.Quarantine(ctx, a.File)
	return QuarantineAnswer{File: a.File, Moved: moved}, err
}
