package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/fault"
)

func TestKindNames(t *testing.T) {
	names := map[fault.Kind]string{
		fault.Internal: "internal", fault.Invalid: "invalid", fault.NotFound: "not_found", fault.Conflict: "conflict",
		fault.State: "state", fault.Denied: "denied", fault.Unconfirmed: "unconfirmed", fault.Unavailable: "unavailable",
		fault.Timeout: "timeout", fault.Canceled: "canceled",
	}
	for k := range 256 {
		want, ok := names[fault.Kind(k)]
		if !ok {
			want = "internal" // a kind nobody defined is never the caller's fault
		}
		assert.Equal(t, want, fault.Kind(k).String())
	}
	assert.Zero(t, fault.Internal)
}

func TestCopiesNeverMutateTheSentinel(t *testing.T) {
	sentinel := fault.New(fault.Conflict, "thing_conflict", "the thing has changed")
	before := *sentinel
	cause := errors.New("disk on fire")
	details := map[string]int{"revision": 3}

	derived := sentinel.WithMessage("thing %d has changed", 7).WithDetails(details).WithCause(cause)
	assert.Equal(t, before, *sentinel)
	assert.Equal(t, fault.Error{Kind: fault.Conflict, Code: "thing_conflict", Message: "thing 7 has changed", Details: details, Err: cause}, *derived)

	for name, copied := range map[string]*fault.Error{"Sayf": sentinel.WithMessage("x"), "With": sentinel.WithDetails(1), "Because": sentinel.WithCause(cause)} {
		assert.NotSame(t, sentinel, copied, name)
		assert.ErrorIs(t, copied, sentinel, name)
		assert.Equal(t, fault.Conflict, copied.Kind, name)
	}
	assert.Equal(t, before, *sentinel)

	later := derived.WithMessage("again")
	assert.Equal(t, "thing 7 has changed", derived.Message, "copies of copies leave the first alone")
	assert.Equal(t, details, later.Details)
	assert.Equal(t, cause, later.Err)
}

func TestMessages(t *testing.T) {
	e := fault.New(fault.Invalid, "x_invalid", "a name").WithMessage("the name %q has %d bytes", "né", 3)
	assert.Equal(t, `the name "né" has 3 bytes`, e.Error())
	assert.Equal(t, "100% of it", e.WithMessage("100% of it").Message, "without arguments the text is taken as it is")
	assert.Equal(t, `the name "né" has 3 bytes: `+io.ErrUnexpectedEOF.Error(), e.WithCause(io.ErrUnexpectedEOF).Error())
	assert.NotContains(t, e.WithCause(io.ErrUnexpectedEOF).Message, "EOF", "the cause is no part of what a caller sees")
}

func TestIsComparesCodes(t *testing.T) {
	a := fault.New(fault.NotFound, "a_missing", "a")
	sameCode := fault.New(fault.Internal, "a_missing", "made somewhere else")
	b := fault.New(fault.NotFound, "b_missing", "a")
	var none *fault.Error

	assert.ErrorIs(t, a.WithMessage("other words").WithDetails(1), a)
	assert.ErrorIs(t, fmt.Errorf("while reading: %w", a.WithCause(io.EOF)), a)
	assert.ErrorIs(t, a.WithCause(io.EOF), io.EOF, "the cause is found as well")
	assert.ErrorIs(t, a.WithCause(b), b)
	assert.ErrorIs(t, sameCode, a)
	assert.NotErrorIs(t, a, b)
	assert.NotErrorIs(t, a, io.EOF)
	assert.NotErrorIs(t, a, none, "a nil target matches nothing, and panics nowhere")
	assert.NotErrorIs(t, io.EOF, a)
}

func TestFromKeepsFaults(t *testing.T) {
	f := fault.New(fault.State, "x_state", "x").WithDetails("d").WithCause(context.Canceled)
	assert.Nil(t, fault.From(nil))
	assert.Same(t, f, fault.From(f))
	assert.Same(t, f, fault.From(fmt.Errorf("a: %w", fmt.Errorf("b: %w", f))))
	assert.Same(t, f, fault.From(errors.Join(io.EOF, f)))
}

func TestFromClassifiesTheRest(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "nothing", "here"))
	require.Error(t, missing)
	var none *fault.Error
	for name, c := range map[string]struct {
		err  error
		want *fault.Error
	}{
		"deadline":            {context.DeadlineExceeded, fault.ErrTimeout},
		"wrapped deadline":    {fmt.Errorf("git: %w", context.DeadlineExceeded), fault.ErrTimeout},
		"canceled":            {context.Canceled, fault.ErrCanceled},
		"wrapped canceled":    {fmt.Errorf("git: %w", context.Canceled), fault.ErrCanceled},
		"file system":         {missing, fault.ErrUnavailable},
		"wrapped file system": {fmt.Errorf("store: %w", missing), fault.ErrUnavailable},
		"disk full":           {&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.ENOSPC}, fault.ErrUnavailable},
		"system call":         {fmt.Errorf("lock: %w", syscall.EROFS), fault.ErrUnavailable},
		"network":             {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, fault.ErrUnavailable},
		"anything else":       {io.ErrUnexpectedEOF, fault.ErrInternal},
		"a panic's text":      {errors.New("boom"), fault.ErrInternal},
		"nil fault":           {none, fault.ErrInternal},
		"wrapped nil fault":   {fmt.Errorf("x: %w", error(none)), fault.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault.From(c.err)
			require.NotNil(t, f)
			assert.ErrorIs(t, f, c.want)
			assert.Equal(t, c.want.Kind, f.Kind)
			assert.Same(t, f, fault.From(f), "classifying twice changes nothing")
		})
	}
}

func TestFromSaysWhatTheSystemSaid(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "packs/pk_a.md", Err: syscall.ENOSPC}
	assert.Equal(t, "cannot write packs/pk_a.md: no space left on device", fault.From(fmt.Errorf("store: %w", full)).Message)
	assert.Contains(t, fault.From(&os.LinkError{Op: "rename", Err: syscall.ENOSPC}).Message, "no space left on device")
	assert.Equal(t, fault.ErrInternal.Message, fault.From(errors.New("secret detail")).Message, "a cause nobody classified is never shown")
}

func ExampleError() {
	errRevision := fault.New(fault.Conflict, "pack_revision_conflict", "the pack has changed")
	err := error(errRevision.WithMessage("pack %s is at revision %d, not %d; read it again", "pk_abcdefgh", 4, 3))
	fmt.Println(errors.Is(err, errRevision), fault.From(err).Kind, fault.From(err).Code)
	fmt.Println(err)
	// Output:
	// true conflict pack_revision_conflict
	// pack pk_abcdefgh is at revision 4, not 3; read it again
}

func TestNearestNames(t *testing.T) {
	known := []string{"section_title", "section_key", "title", "limit", "ttl_minutes", "root", "line_start"}
	for name, want := range map[string]string{"limt": "limit", "Title": "title", "sectiontitle": "section_title", "key": "section_key", "zzzzzz": "", "ttl": "ttl_minutes", "foo": "", "lime": "limit", "txt": ""} {
		assert.Equal(t, want, fault.Nearest(name, known), name)
	}
}
