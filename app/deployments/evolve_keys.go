package deployments

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/app/deployments/planner"
	"github.com/countersign-dev/countersign/domain/deployment"
	"github.com/countersign-dev/countersign/domain/deployment/target"
	"github.com/countersign-dev/countersign/domain/fault"
)

// mergeKeys traces the managed keys of a document back one by one: each that was edited here becomes an edit of the module's file that it comes from,
// in which nothing else changes.
func (e Evolver) mergeKeys(ctx context.Context, f *found, d drifted, in search) error {
	keys, err := e.Planner.MergeKeys(ctx, in.state.Place.Home, &d.File, d.have)
	if err != nil {
		f.unread(d.File.Path, err)
		return nil
	}
	var files []keyFile
	for _, k := range keys {
		one := d
		one.state = k.State
		one.File.Modules = []string{k.Key.Module}
		name := strings.Join(k.Key.Path, ".")
		switch {
		case in.module != "" && k.Key.Module != in.module, !k.State.IsEdited() && k.State != deployment.StateMissing && k.State != deployment.StateNotDeployed, k.Taken:
		case d.others.HasKey(d.File.Path, k.Key, d.have) != "":
			one.state = deployment.StateNotDeployed
			f.skip(one, in, reasonOwned, "the config repository "+d.others.HasKey(d.File.Path, k.Key, d.have)+" deployed the key "+name+", so it is no edit of a module of this one; "+takeOver)
		case k.State == deployment.StateMissing:
			f.skip(one, in, reasonGone, "the key "+name+" is not there, so there is nothing to propose")
		case k.State == deployment.StateNotDeployed:
			f.skip(one, in, reasonUnmanaged, "no deployment wrote the key "+name+", so it is no edit of a module")
		case k.Value == nil && !wants(d.File, k.Key):
			f.skip(one, in, reasonUpstream, "the key "+name+" was edited here, and the config repository does not want it any more")
		case k.Value == nil:
			f.skip(one, in, reasonConflict, "the key "+name+" was edited here and in the config repository")
		default:
			change, err := target.InvertKey(d.Input, d.File, k.Key, k.Value)
			switch {
			case err != nil:
				return err
			case change.Reason != "":
				f.skip(one, in, string(change.Reason), "the key "+name+": "+change.Message)
			default:
				if files, err = e.edit(ctx, in.state, files, k.Key, change); err != nil {
					return err
				}
			}
		}
	}
	for _, file := range files {
		if err := e.candidate(ctx, f, d, in, file.edit, file.keys); err != nil {
			return err
		}
	}
	return nil
}

func wants(d deployment.Desired, k deployment.Key) bool {
	return slices.ContainsFunc(d.Part.Keys, func(w deployment.Key) bool { return slices.Equal(w.Path, k.Path) })
}

// keyFile is a file of a module with the edits of some keys.
type keyFile struct {
	edit target.ModuleEdit
	keys [][]string
}

// edit changes members of a module's file, which may already be changed for another key.
func (e Evolver) edit(ctx context.Context, s planner.State, files []keyFile, k deployment.Key, change target.KeyChange) ([]keyFile, error) {
	i := slices.IndexFunc(files, func(f keyFile) bool { return f.edit.Module == k.Module && f.edit.Path == change.Path })
	if i < 0 {
		edit := target.ModuleEdit{Module: k.Module, Path: change.Path}
		data, err := e.moduleFile(ctx, s, edit)
		if err != nil {
			return nil, err
		}
		edit.Data = bytes.Clone(data)
		i, files = len(files), append(files, keyFile{edit: edit})
	}
	at := &files[i]
	docs := e.Planner.Documents
	var err error
	if len(change.Remove) > 0 {
		at.edit.Data, err = docs.Remove(deployment.FormatJSON, at.edit.Data, change.Remove, nil)
	}
	if err == nil {
		at.edit.Data, err = docs.Set(deployment.FormatJSON, at.edit.Data, change.Set)
	}
	if err != nil {
		return nil, deployment.ErrConfig.WithMessage("%s of module %s: %s", change.Path, k.Module, fault.From(err).Message).WithCause(err)
	}
	at.keys = append(at.keys, k.Path)
	return files, nil
}
