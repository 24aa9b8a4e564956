package memstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/countersign-dev/countersign/domain/fault"
	"github.com/countersign-dev/countersign/domain/project"
	"github.com/countersign-dev/countersign/domain/tool"
)

// collection is one kind of values with an ID, in the order of their creation.
type collection[K ~string, T any] struct {
	lock   *catalogueLock
	kind   string       // what a value is called
	absent *fault.Error // what is said when there is none
	kept   []entry      // the holder of the turn may read it without the lock

	id     func(*T) *K          // where a value has its ID
	aside  func(*T) *string     // what of a value is kept beside its JSON; nil is nothing
	settle func(was T, next *T) // puts back what a change does not decide, the ID aside; nil is nothing
	refuse func(T) error        // what cannot stand beside what is kept; nil refuses nothing
	gone   func(id string)      // what else goes with a value, under the lock; nil is nothing
}

type entry struct {
	id    string
	aside string
	body  []byte
}

// Find returns a copy of the value with that ID. That there is none is a fault of the kind's own.
func (s *collection[K, T]) Find(ctx context.Context, id K) (T, error) {
	var v T
	err := s.lock.read(ctx, func() (err error) {
		i := s.place(id)
		if i < 0 {
			return s.none(id)
		}
		v, err = s.value(s.kept[i])
		return err
	})
	return v, err
}

// Create keeps a copy of a new value. An ID that is taken is project.ErrConflict.
func (s *collection[K, T]) Create(ctx context.Context, v T) error {
	return s.lock.change(ctx, func() error {
		if err := s.refused(v); err != nil {
			return err
		}
		e, err := s.entry(v)
		if err != nil {
			return err
		}
		if s.place(K(e.id)) >= 0 {
			return project.ErrConflict.WithMessage("%s %s already exists; change that one, or use another ID", s.kind, e.id)
		}
		return s.lock.store(ctx, func() { s.kept = append(s.kept, e) })
	})
}

// Update runs change on a copy of the value and keeps what it leaves, unless it fails; the ID stays. What comes back is a copy of what is
// kept.
func (s *collection[K, T]) Update(ctx context.Context, id K, change func(*T) error) (T, error) {
	var stored T
	err := s.lock.change(ctx, func() error {
		i := s.place(id)
		if i < 0 {
			return s.none(id)
		}
		e, err := s.changed(s.kept[i], change)
		if err != nil {
			return err
		}
		next, err := s.value(e)
		if err != nil {
			return err
		}
		if err := s.lock.store(ctx, func() { s.kept[i] = e }); err != nil {
			return err
		}
		stored = next
		return nil
	})
	return stored, err
}

func (s *collection[K, T]) changed(e entry, change func(*T) error) (entry, error) {
	was, err := s.value(e)
	if err != nil {
		return e, err
	}
	next := was
	if err := change(&next); err != nil {
		return e, err
	}
	*s.id(&next) = K(e.id)
	if s.settle != nil {
		s.settle(was, &next)
	}
	if err := s.refused(next); err != nil {
		return e, err
	}
	return s.entry(next)
}

// Delete forgets the value and what depends on it.
func (s *collection[K, T]) Delete(ctx context.Context, id K) error {
	return s.lock.change(ctx, func() error {
		i := s.place(id)
		if i < 0 {
			return s.none(id)
		}
		return s.lock.store(ctx, func() {
			s.kept = slices.Delete(s.kept, i, i+1)
			if s.gone != nil {
				s.gone(string(id))
			}
		})
	})
}

// newest is copies of what is kept and wanted, the last created first. A nil wanted wants everything.
func (s *collection[K, T]) newest(ctx context.Context, wanted func(T) bool) ([]T, error) {
	var found []T
	err := s.lock.read(ctx, func() error {
		for _, e := range slices.Backward(s.kept) {
			v, err := s.value(e)
			if err != nil {
				return err
			}
			if wanted == nil || wanted(v) {
				found = append(found, v)
			}
		}
		return nil
	})
	return found, err
}

func (s *collection[K, T]) place(id K) int {
	return slices.IndexFunc(s.kept, func(e entry) bool { return e.id == string(id) })
}

func (s *collection[K, T]) none(id K) error {
	return s.absent.WithMessage("%q: %s", id, s.absent.Message)
}

func (s *collection[K, T]) refused(v T) error {
	if s.refuse == nil {
		return nil
	}
	return s.refuse(v)
}

// entry is v as it is kept.
func (s *collection[K, T]) entry(v T) (entry, error) {
	e := entry{id: string(*s.id(&v))}
	if s.aside != nil {
		field := s.aside(&v)
		e.aside, *field = *field, ""
	}
	var err error
	e.body, err = tool.Encode(v)
	return e, err
}

// value returns a new copy of what was kept.
func (s *collection[K, T]) value(e entry) (T, error) {
	var v T
	err := json.Unmarshal(e.body, &v)
	if s.aside != nil {
		*s.aside(&v) = e.aside
	}
	return v, err
}
