package cataloguetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/project"
)

// kept is one kind of values with an ID, so that what holds for all of them is said once.
type kept[T any] struct {
	create func(context.Context, T) error
	find   func(context.Context, string) (T, error)
	update func(context.Context, string, func(*T) error) (T, error)
	remove func(context.Context, string) error // nil: none of these is ever deleted by itself
	list   func(context.Context) ([]T, error)
	absent error

	full  func(id string) T // every field set; only one value may have it, if the kind is picky
	id    func(*T) *string  // where the ID is
	head  func(T) T         // what of a value is listed
	next  func(T) T         // updates an unshared value
	spoil func(*T)          // writes to everything a value refers to
	notes func(T) []string  // some texts that a value has any number of

	annotate func(v *T, notes []string) // the same number of them, or more
}

func holds[T any](t *testing.T, open func(testing.TB) kept[T]) {
	for name, test := range map[string]func(*testing.T, kept[T]){
		"KeepsEveryField":      keepsEveryField[T],
		"KeepsAnyText":         keepsAnyText[T],
		"Absent":               absent[T],
		"TakenID":              takenID[T],
		"CopiesNotAliases":     copiesNotAliases[T],
		"FailureStoresNothing": failureStoresNothing[T],
		"KeepsIdentity":        keepsIdentity[T],
		"NoLostUpdate":         noLostUpdate[T],
		"EndedContext":         endedContext[T],
		"ContextEndsMeanwhile": contextEndsMeanwhile[T],
		"WaitsNoLongerThanCtx": waitsNoLongerThanContext[T],
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func keepsEveryField[T any](t *testing.T, k kept[T]) {
	v := k.full("one")
	complete(t, reflect.ValueOf(v), "value")
	put(t, k.create, v)
	assert.Equal(t, v, k.found(t, "one"))
	assert.Equal(t, []T{k.head(v)}, k.listed(t))
	stored, err := k.update(t.Context(), "one", func(have *T) error {
		assert.Equal(t, v, *have)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, k.next(v), stored)
	assert.Equal(t, k.next(v), k.found(t, "one"))
	assert.Equal(t, []T{k.head(k.next(v))}, k.listed(t))
}

// complete fails for every empty field of v: an empty field cannot show that it is stored.
func complete(t *testing.T, v reflect.Value, where string) {
	t.Helper()
	assert.False(t, v.IsZero(), "%s is empty", where)
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
	case v.Kind() == reflect.Pointer && !v.IsNil():
		complete(t, v.Elem(), where)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			complete(t, v.Field(i), where+"."+v.Type().Field(i).Name)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		assert.NotZero(t, v.Len(), "%s is empty", where)
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				complete(t, v.Index(i), fmt.Sprintf("%s[%d]", where, i))
			}
		}
	}
}

func keepsAnyText[T any](t *testing.T, k kept[T]) {
	for _, text := range []string{
		"Größe 项目 🚀", "e\u0301 is not \u00e9", "\u2028\u2029\u202e", `"quoted" \ 'quoted' <b>&amp;</b> {{name}}`, "tab\tline\nend\r\n", "%s %", "'; DROP TABLE projects; --",
		"nul \x00 inside",
	} {
		v := k.full(text)
		k.note(&v, text)
		put(t, k.create, v)
		have := k.found(t, text)
		assert.Equal(t, v, have)
		if k.remove != nil {
			require.NoError(t, k.remove(t.Context(), text))
			k.isAbsent(t, text)
		}
	}
}

func absent[T any](t *testing.T, k kept[T]) {
	for range 2 { // with nothing stored ever, then with another one
		for _, id := range []string{"", "nothing", "One", "one ", "on", "o%", "o_e", "*", "'"} {
			k.isAbsent(t, id)
			_, err := k.update(t.Context(), id, func(*T) error { t.Error("there is nothing to change"); return nil })
			require.ErrorIs(t, err, k.absent)
			if k.remove != nil {
				require.ErrorIs(t, k.remove(t.Context(), id), k.absent)
			}
		}
		if len(k.listed(t)) == 0 {
			put(t, k.create, k.full("one"))
		}
	}
	assert.Equal(t, k.full("one"), k.found(t, "one"))
}

func takenID[T any](t *testing.T, k kept[T]) {
	put(t, k.create, k.full("one"))
	other := k.full("two")
	*k.id(&other) = "one"
	err := k.create(t.Context(), other)
	require.ErrorIs(t, err, project.ErrConflict)
	assert.Contains(t, err.Error(), "one")
	require.ErrorIs(t, k.create(t.Context(), k.full("one")), project.ErrConflict)
	assert.Equal(t, []T{k.head(k.full("one"))}, k.listed(t))
	assert.Equal(t, k.full("one"), k.found(t, "one"))
}

func copiesNotAliases[T any](t *testing.T, k kept[T]) {
	given := k.full("one")
	put(t, k.create, given)
	k.spoil(&given)
	for range 2 {
		have := k.found(t, "one")
		require.Equal(t, k.full("one"), have)
		k.spoil(&have)
		have = k.listed(t)[0]
		require.Equal(t, k.head(k.full("one")), have)
		k.spoil(&have)
	}
	var inside T
	stored, err := k.update(t.Context(), "one", func(have *T) error {
		k.note(have, "a note")
		inside = *have
		return nil
	})
	require.NoError(t, err)
	k.spoil(&inside)
	want := k.full("one")
	k.note(&want, "a note")
	want = k.next(want)
	require.Equal(t, want, stored, "what comes back shares nothing with what was handed to the change")
	k.spoil(&stored)
	assert.Equal(t, want, k.found(t, "one"))
}

func failureStoresNothing[T any](t *testing.T, k kept[T]) {
	put(t, k.create, k.full("one"))
	failure := errors.New("as it was")
	wreck := func(have *T) { k.spoil(have); k.note(have, "lost"); *k.id(have) = "two" }
	_, err := k.update(t.Context(), "one", func(have *T) error { wreck(have); return failure })
	require.Equal(t, failure, err, "the function's own error comes back as it is")
	require.PanicsWithValue(t, "boom", func() {
		k.update(t.Context(), "one", func(have *T) error { wreck(have); panic("boom") }) //nolint:errcheck // it panics
	})
	assert.Equal(t, k.full("one"), k.found(t, "one"))
	assert.Equal(t, []T{k.head(k.full("one"))}, k.listed(t))
	_, err = k.update(t.Context(), "one", func(*T) error { return nil })
	require.NoError(t, err, "and the catalogue is not locked")
}

func keepsIdentity[T any](t *testing.T, k kept[T]) {
	put(t, k.create, k.full("one"), k.full("two"))
	for _, stolen := range []string{"two", "three", ""} {
		stored, err := k.update(t.Context(), "one", func(have *T) error { *k.id(have) = stolen; return nil })
		require.NoError(t, err)
		assert.Equal(t, "one", *k.id(&stored))
	}
	assert.Equal(t, k.next(k.next(k.next(k.full("one")))), k.found(t, "one"))
	assert.Equal(t, k.full("two"), k.found(t, "two"))
	assert.Len(t, k.listed(t), 2)
}

func noLostUpdate[T any](t *testing.T, k kept[T]) {
	const writers, each = 16, 50
	put(t, k.create, k.full("one"))
	before := k.notes(k.found(t, "one"))
	_, err := k.update(t.Context(), "one", func(have *T) error {
		k.annotate(have, append(before, slices.Repeat([]string{"0"}, writers)...))
		return nil
	})
	require.NoError(t, err)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				_, err := k.update(t.Context(), "one", func(have *T) error {
					notes := k.notes(*have)
					assert.Equal(t, strconv.Itoa(n), notes[len(before)+w], "what this writer wrote before")
					notes[len(before)+w] = strconv.Itoa(n + 1)
					k.annotate(have, notes)
					return nil
				})
				if err == nil && n%10 == 0 {
					_, err = k.find(t.Context(), "one")
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	assert.Equal(t, append(before, slices.Repeat([]string{strconv.Itoa(each)}, writers)...), k.notes(k.found(t, "one")))
}

func endedContext[T any](t *testing.T, k kept[T]) {
	require.ErrorIs(t, k.create(ended(t), k.full("one")), context.Canceled)
	assert.Empty(t, k.listed(t))
	put(t, k.create, k.full("one"))
	_, err := k.find(ended(t), "one")
	require.ErrorIs(t, err, context.Canceled)
	_, err = k.list(ended(t))
	require.ErrorIs(t, err, context.Canceled)
	_, err = k.update(ended(t), "one", func(have *T) error { k.note(have, "lost"); return nil })
	require.ErrorIs(t, err, context.Canceled)
	if k.remove != nil {
		require.ErrorIs(t, k.remove(ended(t), "one"), context.Canceled)
	}
	assert.Equal(t, k.full("one"), k.found(t, "one"))
}

func contextEndsMeanwhile[T any](t *testing.T, k kept[T]) {
	put(t, k.create, k.full("one"))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := k.update(ctx, "one", func(have *T) error { k.note(have, "lost"); cancel(); return nil })
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, k.full("one"), k.found(t, "one"))
}

// A change that waits for itself is a defect of the caller, which ends with its context.
func waitsNoLongerThanContext[T any](t *testing.T, k kept[T]) {
	put(t, k.create, k.full("one"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var inner error
	_, err := k.update(t.Context(), "one", func(*T) error {
		_, inner = k.update(ctx, "one", func(*T) error { return nil })
		return nil
	})
	require.NoError(t, err)
	require.ErrorIs(t, inner, context.DeadlineExceeded)
}

// note leaves one more note.
func (k kept[T]) note(v *T, text string) { k.annotate(v, append(slices.Clip(k.notes(*v)), text)) }

func (k kept[T]) found(t testing.TB, id string) T {
	t.Helper()
	v, err := k.find(t.Context(), id)
	require.NoError(t, err)
	return v
}

func (k kept[T]) listed(t testing.TB) []T {
	t.Helper()
	all, err := k.list(t.Context())
	require.NoError(t, err)
	return all
}

func (k kept[T]) isAbsent(t testing.TB, id string) {
	t.Helper()
	v, err := k.find(t.Context(), id)
	require.ErrorIs(t, err, k.absent)
	assert.Zero(t, v)
}
