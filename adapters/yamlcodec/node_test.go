package yamlcodec_test

import (
	"testing"

	"github.com/countersign-dev/countersign/adapters/yamlcodec"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNodesHavePlaces(t *testing.T) {
	root, err := yamlcodec.Parse([]byte("a: &x 1\nb: [é, on, 2020-01-01]\nc:\n  d: *x\n  e: ~\nf:\n"), yamlcodec.Options{FirstLine: 3})
	require.NoError(t, err)
	require.Equal(t, yamlcodec.Mapping, root.Kind())
	fields := root.Fields()
	require.Len(t, fields, 4)
	assert.Equal(t, []any{yamlcodec.Number, "1", 3, 4}, []any{fields[0].Value.Kind(), fields[0].Value.Text(), fields[0].Value.Line(), fields[0].Value.Column()})
	items := fields[1].Value.Items()
	require.Len(t, items, 3)
	for i, want := range []string{"é", "on", "2020-01-01"} {
		assert.Equal(t, yamlcodec.Text, items[i].Kind(), want)
		assert.Equal(t, want, items[i].Text())
	}
	assert.Equal(t, 8, items[1].Column(), "columns count characters")
	alias := fields[2].Value.Fields()[0].Value
	assert.Equal(t, []any{yamlcodec.Number, "1", 6}, []any{alias.Kind(), alias.Text(), alias.Line()}, "an alias is its value, where it stands")
	assert.Equal(t, yamlcodec.Null, fields[2].Value.Fields()[1].Value.Kind())
	assert.Equal(t, yamlcodec.Null, fields[3].Value.Kind())
	assert.False(t, fields[3].Value.Given())
	assert.Equal(t, yamlcodec.Problem{Line: 6, Column: 6, Message: "1 is wrong"}, alias.Problem("%s is wrong", alias.Say()))
}

func TestParseIsAsStrictAsDecode(t *testing.T) {
	for name, in := range map[string]string{"repeated": "a: 1\na: 2", "tag": "a: !!str 1", "two": "a: 1\n---\nb: 2", "empty": "", "cut": "a: [", "control": "a: \x01"} {
		_, err := yamlcodec.Parse([]byte(in), yamlcodec.Options{})
		assert.ErrorIs(t, err, yamlcodec.ErrInvalid, name)
	}
	for in, want := range map[string]yamlcodec.Kind{"~": yamlcodec.Missing, "# only\n": yamlcodec.Missing, "---\n": yamlcodec.Missing, "x": yamlcodec.Text, "true": yamlcodec.Bool, "[]": yamlcodec.List} {
		root, err := yamlcodec.Parse([]byte(in), yamlcodec.Options{})
		if err == nil {
			assert.Equal(t, want, root.Kind(), in)
		} else {
			assert.Equal(t, yamlcodec.Missing, want, "%s: %v", in, err)
		}
	}
}
