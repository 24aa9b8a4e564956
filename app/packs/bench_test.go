package packs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
)

// output50 returns a pack of 100 refs over 50 files of 16 KB, as source files are.
func output50(b *testing.B) (*fixture, *editor) {
	d := newFixture(b)
	for f := range 50 {
		d.file(fmt.Sprintf("pkg/file%d.go", f), strings.Repeat("\tif err := verify(ctx, token); err != nil {\n", 350))
	}
	e := d.create(nil)
	e.section("flow")
	for r := range 100 {
		e.ref("flow", fmt.Sprintf("ref%d", r), fmt.Sprintf("pkg/file%d.go", r%50), 100+r/50*200, 120+r/50*200)
	}
	return d, e
}

func (d *fixture) render(b *testing.B, a args) {
	raw, err := tool.Encode(a)
	require.NoError(b, err)
	inv, err := d.tools["output"].Handler.Decode(raw)
	require.NoError(b, err)
	_, err = inv.Commit(b.Context(), tool.Scope{}, nil)
	require.NoError(b, err)
}

// BenchmarkRender100 should take at most twice the time of BenchmarkRender100Floor, which only reads the files.
func BenchmarkRender100(b *testing.B) {
	d, e := output50(b)
	for b.Loop() {
		d.render(b, args{"id": e.id})
	}
}

func BenchmarkRender100Floor(b *testing.B) {
	d, _ := output50(b)
	for b.Loop() {
		for f := range 50 {
			_, err := os.ReadFile(filepath.Join(d.dir, "src", fmt.Sprintf("pkg/file%d.go", f)))
			require.NoError(b, err)
		}
	}
}

// big returns a pack of 40 refs into one file of about 50 MB, the last at its very end.
func big(b *testing.B) (*fixture, *editor) {
	const lines = 900_000
	d := newFixture(b)
	d.file("big.go", strings.Repeat("\tif err := verify(token, now); err != nil { return err }\n", lines))
	e := d.create(nil)
	e.section("flow")
	for r := range 40 {
		e.ref("flow", fmt.Sprintf("ref%d", r), "big.go", (r+1)*lines/40-2, (r+1)*lines/40)
	}
	return d, e
}

// BenchmarkOneBigFile should take at most 1.5 times as long as BenchmarkOneBigFileFloor.
func BenchmarkOneBigFile(b *testing.B) {
	d, e := big(b)
	for b.Loop() {
		d.render(b, args{"id": e.id})
	}
}

func BenchmarkOneBigFileFloor(b *testing.B) {
	d, _ := big(b)
	for b.Loop() {
		_, err := os.ReadFile(filepath.Join(d.dir, "src", "big.go"))
		require.NoError(b, err)
	}
}

// BenchmarkMutate measures a change of a pack with 100 refs, including the reply.
func BenchmarkMutate(b *testing.B) {
	_, e := output50(b)
	for b.Loop() {
		e.do("touch_ttl", args{"ttl_minutes": 600, "terse": true})
	}
}
