package control

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/app"
	"github.com/countersign-dev/countersign/domain/canon"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports"
)

// BackupInput names the file of a backup.
type BackupInput struct {
	File string `json:"file" jsonschema:"minLength=1"`
	Over bool   `json:"replace_file,omitempty" jsonschema:"description=replace a file that is there"`
}

// RestoreInput names a backup.
type RestoreInput struct {
	File string `json:"file" jsonschema:"minLength=1"`
}

// BackupMade is a backup that was written.
type BackupMade struct {
	File string `json:"file"`
	ports.Backup
}

// The tools that make a backup of the home, which contains its keys, and restore one. They are for users only, and always need approval.
var (
	CreateBackup  = tool.Ref[BackupInput, BackupMade]{Name: "create_backup"}
	RestoreBackup = tool.Ref[RestoreInput, ports.Restored]{Name: "restore_backup"}
)

// backupTime is the timeout of making and restoring a backup, including reading a large one twice.
const backupTime = 30 * time.Minute

func backupSpec() tool.Spec {
	return tool.Spec{Title: "Make a backup", Description: "Write the home with its keys into one file; a person approves it first.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Human: policy.Preview, Risk: policy.RiskHigh, Input: json.RawMessage(backupSchema), UserOnly: true, Timeout: backupTime}
}

func restoreSpec() tool.Spec {
	return tool.Spec{Title: "Restore a backup", Description: "Put a backup in the place of the home; a person approves it first.", Class: policy.ClassScratch,
		Effects: policy.Read | policy.Write, Human: policy.Preview, Risk: policy.RiskHigh, Input: json.RawMessage(restoreSchema), UserOnly: true, Timeout: backupTime}
}

// proven is a plan about the home itself: it needs approval whatever grants exist, with the strongest proof that policy requires for any call.
type proven struct{ require policy.Proving }

// Assessment requires an approval.
func (proven) Assessment() policy.Assessment {
	return policy.Assessment{Strength: policy.Preview, Human: policy.Preview, Risk: policy.RiskHigh}
}

// Insists requires an approval whatever grants exist.
func (proven) Insists() bool { return true }

// Needs requires a decision at a terminal or in a logged-in browser, or a stronger proof.
func (p proven) Needs() policy.Proving { return max(policy.ProvingPerson, p.require) }

// backupPlan is the plan to write a backup.
type backupPlan struct {
	Opens    string `json:"opens"`
	File     string `json:"file"`
	Replaces bool   `json:"replaces_file"`
	ports.BackupContents
	proven
}

// Hash covers everything that is shown.
func (p backupPlan) Hash() canon.Hash {
	sum, err := canon.Sum("backup.plan.v1", p)
	if err != nil { // words always have a form
		return canon.Hash{}
	}
	return sum
}

// Prompt says what is written; a row of the plan says what that makes possible.
func (p backupPlan) Prompt() string {
	if p.Replaces {
		return "write a backup with the keys of this home to " + p.File + ", in place of the file that is there"
	}
	return "write a backup with the keys of this home to " + p.File
}

// Announcement reports a new file with the keys.
func (p backupPlan) Announcement() string { return "a backup was made, with the keys of the home" }

// wide fails for a client that may use only some tools.
func wide(sc tool.Scope) error {
	if sc.Narrow || sc.Principal.Ceiling != policy.ModeUnset && sc.Principal.Ceiling != policy.Execute {
		return ErrNarrow
	}
	return nil
}

func (s service) planBackup(ctx context.Context, sc tool.Scope, in BackupInput) (backupPlan, error) {
	if err := wide(sc); err != nil {
		return backupPlan{}, err
	}
	rules, err := s.required(ctx)
	if err != nil {
		return backupPlan{}, err
	}
	p := backupPlan{proven: proven{strongest(rules)}}
	if p.File, p.Replaces, err = s.Backups.Target(in.File, in.Over); err != nil {
		return p, err
	}
	if p.BackupContents, err = s.Backups.Holds(ctx); err != nil {
		return p, err
	}
	p.Opens = "whoever can read that file reads what was sealed and can sign as this home's audit"
	return p, nil
}

func (s service) createBackup(ctx context.Context, sc tool.Scope, p backupPlan) (BackupMade, error) {
	made, err := s.Backups.Make(ctx, p.File, p.Replaces, telling(sc, "writing the backup"))
	return BackupMade{File: p.File, Backup: made}, err
}

// telling reports progress, at most a hundred times.
func telling(sc tool.Scope, what string) func(done, total int64) {
	last := int64(-1)
	return func(done, total int64) {
		if step := done * 100 / max(total, 1); step > last {
			last = step
			sc.Progress(tool.Progress{Done: done, Total: total, Message: what})
		}
	}
}

// restorePlan is the plan to replace the home by a backup.
type restorePlan struct {
	Opens     string          `json:"opens"`
	File      string          `json:"file"`
	Sum       string          `json:"sha256"`
	MadeAt    time.Time       `json:"made_at"`
	Of        string          `json:"made_of"` // the home, and the machine
	Version   string          `json:"made_by"` // the program
	Records   int64           `json:"audit_records"`
	Brings    []string        `json:"comes_back"`
	Replaces  []string        `json:"set_aside"`
	Keeps     []string        `json:"stays_as_it_is,omitempty"`
	Withdrawn ports.Withdrawn `json:"does_not_come_back"`
	Loosens   []string        `json:"settings_that_open"`     // what the present settings do not allow, one line each
	Changes   []string        `json:"settings_that_differ"`   // other differences, one line each
	KeysBack  []string        `json:"keys_that_count_again"`  // enrolled keys that would count again
	KeysGone  []string        `json:"keys_that_do_not_count"` // enrolled keys that would no longer count, because they are not in the backup
	Config    string          `json:"config_yaml,omitempty"`  // if it differs
	view      ports.BackupView
	free      func() error
	proven
}

// Hash covers everything that is shown.
func (p restorePlan) Hash() canon.Hash {
	sum, err := canon.Sum("restore.plan.v1", p)
	if err != nil { // words, times and counts always have a form
		return canon.Hash{}
	}
	return sum
}

// Prompt says what it does; rows of the plan say what that makes possible.
func (p restorePlan) Prompt() string {
	prompt := "put the home back to the backup of " + p.MadeAt.UTC().Format(time.DateTime) + " UTC"
	if len(p.Loosens) > 0 {
		prompt += ", with settings that allow more"
	}
	return prompt
}

// Announcement reports the restore: settings and keys are older ones now.
func (p restorePlan) Announcement() string {
	return "the home was put back to a backup of " + p.MadeAt.UTC().Format(time.DateTime) + " UTC"
}

// Check fails while a server runs; the approval stays valid.
func (p restorePlan) Check() error {
	if p.Needs() > policy.ProvingTerminal { // it is approved in the console, which a server serves
		return nil
	}
	return p.free()
}

func (s service) planRestore(ctx context.Context, sc tool.Scope, in RestoreInput) (restorePlan, error) {
	if err := wide(sc); err != nil {
		return restorePlan{}, err
	}
	had, err := s.Settings.Load(ctx)
	if err != nil {
		return restorePlan{}, err
	}
	rules, err := s.rules(ctx, had)
	if err != nil {
		return restorePlan{}, err
	}
	v, err := s.Backups.Look(ctx, in.File, telling(sc, "reading the backup"))
	if err != nil {
		return restorePlan{}, err
	}
	counted := effective(had, rules)
	p := restorePlan{File: v.File, Sum: v.Sum.Hex(), MadeAt: v.MadeAt, Of: v.Home, Version: v.Version, Records: v.Records, Brings: v.Brings, Replaces: v.Replaces, Keeps: v.Keeps,
		Withdrawn: v.Withdrawn, Loosens: append([]string{}, app.LoosenedSettings(counted, v.Settings, s.Operator.Level)...),
		Changes: append([]string{}, otherwise(had, counted, v.Settings, s.Operator.Level)...), KeysBack: []string{}, KeysGone: []string{}, Config: v.Config, view: v, free: s.Backups.Free, proven: proven{strongest(rules)}}
	p.Loosens = append(p.Loosens, v.Opens...)
	if err := s.compareKeys(ctx, &p); err != nil {
		return p, err
	}
	p.Opens = "settings and keys are as they were then; what is there now is set aside in the home"
	return p, nil
}

// compareKeys returns which enrolled keys come back, and which no longer count.
func (s service) compareKeys(ctx context.Context, p *restorePlan) error {
	if s.Keys == nil {
		return nil
	}
	now, err := s.Keys.List(ctx)
	if err != nil {
		return err
	}
	var counting []string
	for _, k := range now {
		if !k.Counts {
			continue
		}
		counting = append(counting, k.ID)
		if !slices.ContainsFunc(p.view.Keys, k.Same) {
			p.KeysGone = append(p.KeysGone, k.Kind.Words()+" "+k.Name+" ("+k.ID+")")
		}
	}
	for _, k := range p.view.Keys {
		if !slices.Contains(counting, k.ID()) {
			p.KeysBack = append(p.KeysBack, k.Kind.Words()+" "+k.Name+" ("+k.ID()+"), as far as its enrolment is on record there")
		}
	}
	return nil
}

func (s service) restoreBackup(ctx context.Context, sc tool.Scope, p restorePlan) (ports.Restored, error) {
	return s.Backups.Stage(ctx, p.view, "call "+sc.CallID, telling(sc, "making the restore ready"))
}
