package memstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/project/webhook"
	"github.com/countersign-dev/countersign/domain/tool"
)

// rules is a projectport.Rules; New makes it.
type rules struct {
	lock    *catalogueLock
	actions *actions
	kept    []webhook.ActionRule // in the order in which their subjects were first decided about
}

// List returns every rule, sorted by webhook.SortActionRules.
func (s *rules) List(ctx context.Context) ([]webhook.ActionRule, error) {
	var found []webhook.ActionRule
	err := s.lock.read(ctx, func() error {
		found = slices.Clone(s.kept)
		return nil
	})
	slices.Reverse(found)
	webhook.SortActionRules(found)
	return found, err
}

// Put keeps a rule in place of the one for the same action, type, or all. An action that does not exist is project.ErrActionNotFound.
func (s *rules) Put(ctx context.Context, r webhook.ActionRule) error {
	body, err := tool.Encode(r)
	if err != nil {
		return err
	}
	var kept webhook.ActionRule
	if err := json.Unmarshal(body, &kept); err != nil {
		return err
	}
	return s.lock.change(ctx, func() error {
		if r.ActionID != "" && s.actions.place(r.ActionID) < 0 {
			return s.actions.none(r.ActionID)
		}
		return s.lock.store(ctx, func() {
			if i := s.place(r.ActionID, r.Type); i >= 0 {
				s.kept[i] = kept
			} else {
				s.kept = append(s.kept, kept)
			}
		})
	})
}

// Delete forgets the rule for exactly that action, type, or all, and reports whether there was one.
func (s *rules) Delete(ctx context.Context, actionID string, kind project.Kind) (bool, error) {
	gone := false
	err := s.lock.change(ctx, func() error {
		return s.lock.store(ctx, func() {
			if i := s.place(actionID, kind); i >= 0 {
				s.kept, gone = slices.Delete(s.kept, i, i+1), true
			}
		})
	})
	return gone, err
}

// place returns the index of the rule for that action, type, or all. A rule for an action applies to it whatever its type.
func (s *rules) place(actionID string, kind project.Kind) int {
	return slices.IndexFunc(s.kept, func(r webhook.ActionRule) bool {
		return r.ActionID == actionID && (actionID != "" || r.Type == kind)
	})
}

// deleteOf forgets the rule of an action.
func (s *rules) deleteOf(actionID string) {
	s.kept = slices.DeleteFunc(s.kept, func(r webhook.ActionRule) bool { return r.ActionID == actionID })
}
