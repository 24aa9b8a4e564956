package push

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/app/bind"
	"github.com/countersign-dev/countersign/app/ecosystems/releases"
	"github.com/countersign-dev/countersign/app/ecosystems/runs"
	"github.com/countersign-dev/countersign/domain/ecosystem"
	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/ports/ecosystemport"
)

// Deps is the ports of these tools. Every field is required.
type Deps struct {
	runs.Deps
	Git   ecosystemport.PushGit
	Trash ecosystemport.Trash

	Forge    ecosystemport.Forge      // for releases on GitHub that are still to be made
	Releases ecosystemport.ReleaseGit // for the tags and records of releases, which are pushed too
}

// The typed handles.
var (
	Push    = tool.Ref[PushInput, PushAnswer]{Name: "amof_push_ecosystem"}
	Archive = tool.Ref[ArchiveInput, runs.QueuedRun]{Name: "amof_archive_ecosystem"}
	Discard = tool.Ref[runs.Target, runs.QueuedRun]{Name: "amof_discard_ecosystem"}
	Restore = tool.Ref[RestoreInput, Restored]{Name: "ecosystem_restore"}
	Trash   = tool.Ref[runs.EcosystemInput, TrashList]{Name: "ecosystem_trash"}
)

// The actions of the runs.
const (
	pushing    = "push"
	archiving  = "archive"
	discarding = "discard"
)

const lockWait = 30 * time.Second

type service struct {
	Deps
	pusher       Pusher
	trashManager TrashManager
	publisher    releases.Publisher
}

func newService(d Deps) service {
	publisher := releases.Publisher{Deps: releases.Deps{Deps: d.Deps, Git: d.Releases, Forge: d.Forge}}
	return service{d, Pusher{States: d.States, Git: d.Git, Clock: d.Clock, Delivered: publisher.Delivered},
		TrashManager{States: d.States, Git: d.Git, Trash: d.Trash, Clock: d.Clock}, publisher}
}

// Entries returns the tools. Only users may call the last two.
func Entries(d Deps) []tool.Entry {
	s := newService(d)
	push := runs.DangerousSpec(policy.Simple, "Push ecosystem", "Push what the repositories have committed to their remotes; with commit_all, commit what is not committed first. Never with force.", pushSchema)
	archive := runs.DangerousSpec(policy.Simple, "Archive ecosystem", "Push everything, verify that every commit is on a remote or in a bundle, then remove the workspace.", archiveSchema)
	discard := runs.DangerousSpec(policy.Typed, "Discard ecosystem", "Remove the workspace with everything in it, without pushing. It is kept in the trash for seven days.", discardSchema)
	restore := runs.SafeWriteSpec("Restore ecosystem", "Bring a workspace that was discarded or archived back from the trash.", restoreSchema)
	trash := runs.ReadSpec("List trash", "List the workspaces in the trash, and the archives.", trashSchema)
	restore.UserOnly, trash.UserOnly = true, true
	push.When = "unless there is nothing to push"
	return []tool.Entry{
		bind.Command(Push, push, s.planPush, s.queuePush),
		bind.Command(Archive, archive, s.planArchive, s.Enqueue),
		bind.Command(Discard, discard, s.planDiscard, s.Enqueue),
		bind.Command(Restore, restore, s.planRestore, s.restore),
		bind.Query(Trash, trash, s.trash),
	}
}

// Performers returns the code of the runs.
func Performers(d Deps) []runs.Performer {
	s, limit := newService(d), int(ecosystem.LifecycleTimeout/time.Second)
	recoverRun := func(ctx context.Context, j runs.Job) error { return s.recoverRun(ctx, j.Found, j.Log) }
	return []runs.Performer{
		{Action: pushing, Limit: limit, Facts: s.pushFacts, Do: s.push, Recover: recoverRun},
		{Action: archiving, Limit: limit, Facts: s.archiveFacts, Do: s.archive, Recover: recoverRun},
		{Action: discarding, Limit: limit, Facts: s.discardFacts, Do: s.discard, Recover: recoverRun},
	}
}

// recoverRun finishes or undoes what a process that is gone had begun. The caller has the ecosystem's lock.
func (s service) recoverRun(ctx context.Context, f runs.Ecosystem, log func(level, message string)) error {
	j, err := LoadOperation(ctx, s.States, f.Layout)
	if err != nil || j == nil {
		return err
	}
	log("info", "putting in order what an interrupted run left: "+j.Phase)
	switch j.Phase {
	case PhaseSending:
		err = s.pusher.Recover(ctx, f, j, log)
	case PhaseSaving:
		err = s.undoSaving(ctx, f, j)
	case PhaseRecording:
		err = s.recoverRecord(ctx, f, j, log)
	case PhaseRemoving:
		err = s.trashManager.RecoverRemoval(ctx, f, j, log)
	case PhaseRestoring:
		err = s.trashManager.RecoverRestore(ctx, f.Layout, j)
	}
	if err != nil {
		return err
	}
	return ClearOperation(ctx, s.States, f.Layout)
}

// deployed warns of the environments that may run in what is to be removed, whatever they are called.
func (s service) deployed(ctx context.Context, f runs.Ecosystem) []string {
	all, err := s.Environments(ctx, f.Layout)
	if err != nil {
		return []string{"the environments cannot be looked at, and may run in the directories that are removed: " + ErrorMessage(err)}
	}
	var out []string
	for _, e := range all {
		out = append(out, "the environment "+e.Environment+" is "+e.State+", and may run in the directories that are removed; amof_spin_destroy takes it down first")
	}
	return out
}
