package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/domain/tool"
)

func TestSplitToken(t *testing.T) {
	for in, want := range map[string]struct{ rest, token, typed string }{
		`{"a":1}`:                         {`{"a":1}`, "", ""},
		`{"a":"<b>","confirm_token":"T"}`: {`{"a":"<b>"}`, "T", ""},
		`{"confirm_token":"T","typed_value":"name"}`: {`{}`, "T", "name"},
		`{"confirm_token":null,"typed_value":null}`:  {`{}`, "", ""},
		`{"Confirm_Token":"T","confirm_token ":"U"}`: {`{"Confirm_Token":"T","confirm_token ":"U"}`, "", ""},
		`{"nested":{"confirm_token":"T"}}`:           {`{"nested":{"confirm_token":"T"}}`, "", ""},
		`{"big":12345678901234567890,"f":1.50}`:      {`{"big":12345678901234567890,"f":1.50}`, "", ""},
	} {
		rest, token, typed, err := tool.SplitToken(json.RawMessage(in))
		require.NoError(t, err, in)
		assert.Equal(t, want.token, token, in)
		assert.Equal(t, want.typed, typed, in)
		assert.Equal(t, want.rest, string(rest), in)
	}
}

func TestSplitTokenRefusesOtherTypes(t *testing.T) {
	for _, in := range []string{`{"confirm_token":1}`, `{"typed_value":true}`, `{"confirm_token":["T"]}`, `{"confirm_token":"T","typed_value":{}}`} {
		rest, token, typed, err := tool.SplitToken(json.RawMessage(in))
		require.ErrorIs(t, err, tool.ErrToken, in)
		assert.Empty(t, token, "a refusal gives no token away")
		assert.Empty(t, typed)
		assert.Nil(t, rest)
	}
}

func TestSplitTokenLeavesWhatIsNoObject(t *testing.T) {
	for _, in := range []string{``, `null`, `[]`, `"x"`, `{`, `1`, `{"a":1}}`} {
		rest, token, _, err := tool.SplitToken(json.RawMessage(in))
		require.NoError(t, err, in)
		assert.Equal(t, in, string(rest))
		assert.Empty(t, token)
	}
}

func TestEncodeEscapesNoHTML(t *testing.T) {
	got, err := tool.Encode(map[string]string{"a": "<b> & c"})
	require.NoError(t, err)
	assert.Equal(t, `{"a":"<b> & c"}`, string(got))
	_, err = tool.Encode(make(chan int))
	require.Error(t, err)
}
