package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countersign-dev/countersign/adapters/httpapi"
	"github.com/countersign-dev/countersign/adapters/local"
	"github.com/countersign-dev/countersign/domain/tool"
	"github.com/countersign-dev/countersign/internal/testkit/golden"
	"github.com/countersign-dev/countersign/internal/testkit/nopolicy"
	"github.com/countersign-dev/countersign/internal/testkit/person"
)

type openapiObject = map[string]any

var about = httpapi.About{Version: "1.2.3", Prefix: "/api/v1", Cookie: "countersign_PORT"}

// served returns all tools of the product.
func served(t *testing.T) []tool.Spec {
	t.Helper()
	dir := t.TempDir()
	c := local.Config{Trust: nopolicy.Trust(t.TempDir()), Dir: dir, Options: person.ByCaller(local.Defaults()), Toolsets: []string{"all"}, Packs: local.Packs{Root: dir, Source: dir}, Projects: local.Projects{Home: dir},
		Env: func(string) string { return "" }}
	c.Options.Serve.Toolsets = []string{"all"}
	l, err := local.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return slices.Collect(l.Specs())
}

func described(t *testing.T, tools []tool.Spec) openapiObject {
	t.Helper()
	raw, err := httpapi.Document(about, tools)
	require.NoError(t, err)
	var doc openapiObject
	require.NoError(t, json.Unmarshal(raw, &doc))
	return doc
}

// TestTheDocumentIsOne: the same tools give the same bytes.
func TestTheDocumentIsOne(t *testing.T) {
	tools := served(t)
	first, err := httpapi.Document(about, tools)
	require.NoError(t, err)
	for range 3 {
		again, err := httpapi.Document(about, tools)
		require.NoError(t, err)
		require.True(t, bytes.Equal(first, again))
	}
}

// TestTheSkeleton is the document without tools: the routes, forms and refusals that there always are.
func TestTheSkeleton(t *testing.T) {
	raw, err := httpapi.Document(about, nil)
	require.NoError(t, err)
	golden.JSON(t, "skeleton", raw)
}

// TestATool is described by what the registry has of it.
func TestATool(t *testing.T) {
	tools := served(t)
	i := slices.IndexFunc(tools, func(s tool.Spec) bool { return s.Name == "create_step_template" })
	post := described(t, tools[i:i+1])["paths"].(openapiObject)["/api/v1/tools/create_step_template"].(openapiObject)["post"]
	golden.JSON(t, "openapi/tool", post)
}

// TestTheDocumentHolds together: every reference leads somewhere, ids are unique, every operation answers, parameters of paths are declared, and
// every schema is one.
func TestTheDocumentHolds(t *testing.T) {
	tools := served(t)
	doc := described(t, tools)
	assert.Equal(t, "3.1.0", doc["openapi"])
	components := doc["components"].(openapiObject)
	walk(doc, func(v openapiObject) {
		if ref, ok := v["$ref"].(string); ok {
			kind, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/components/"), "/")
			group, _ := components[kind].(openapiObject)
			assert.Contains(t, group, name, ref)
		}
	})
	ids, tags := map[string]bool{}, map[string]bool{}
	for _, one := range doc["tags"].([]any) {
		name := one.(openapiObject)["name"].(string)
		assert.False(t, tags[name], name)
		tags[name] = true
	}
	paths := doc["paths"].(openapiObject)
	for path, item := range paths {
		require.True(t, strings.HasPrefix(path, "/api/v1/"), path)
		for method, one := range item.(openapiObject) {
			op := one.(openapiObject)
			assert.Contains(t, []string{"get", "post", "put"}, method)
			id := op["operationId"].(string)
			assert.False(t, ids[id], "%s is listed twice", id)
			ids[id] = true
			answers := op["responses"].(openapiObject)
			assert.Contains(t, answers, "200", path)
			assert.Contains(t, answers, "401", path)
			for status, answer := range answers {
				assert.Regexp(t, `^[1-5]\d\d$`, status)
				if _, ref := answer.(openapiObject)["$ref"]; !ref {
					assert.NotEmpty(t, answer.(openapiObject)["description"], path)
				}
			}
			for _, tag := range op["tags"].([]any) {
				assert.True(t, tags[tag.(string)], tag)
			}
			checkParameters(t, components["parameters"].(openapiObject), path, op)
		}
	}
	for name, schema := range components["schemas"].(openapiObject) {
		assert.Regexp(t, regexp.MustCompile(`^[A-Za-z0-9._-]+$`), name)
		checkSchema(t, name, schema)
	}
	for _, s := range tools {
		op := paths["/api/v1/tools/"+string(s.Name)].(openapiObject)["post"].(openapiObject)
		body := op["requestBody"].(openapiObject)
		schema := body["content"].(openapiObject)["application/json"].(openapiObject)["schema"]
		got, err := json.Marshal(schema)
		require.NoError(t, err)
		assert.JSONEq(t, string(s.Input), string(got), s.Name)
		assert.Equal(t, strings.Contains(string(s.Input), `"required":[`) && schema.(openapiObject)["required"] != nil, body["required"], s.Name)
		checkSchema(t, string(s.Name), schema)
	}
	assert.Len(t, ids, len(tools)+20-1, "every route of the API but calling by a tool's name in general")
}

// checkParameters holds an operation to the parameters in its path, each declared once.
func checkParameters(t *testing.T, known openapiObject, path string, op openapiObject) {
	t.Helper()
	declared, inPath := map[string]bool{}, 0
	list, _ := op["parameters"].([]any)
	for _, one := range list {
		p := one.(openapiObject)
		if ref, ok := p["$ref"].(string); ok {
			p = known[ref[strings.LastIndex(ref, "/")+1:]].(openapiObject)
		}
		key := p["in"].(string) + " " + p["name"].(string)
		assert.False(t, declared[key], "%s %s", path, key)
		declared[key] = true
		if p["in"] == "path" {
			inPath++
			assert.Equal(t, true, p["required"])
			assert.Contains(t, path, "{"+p["name"].(string)+"}")
		}
	}
	assert.Equal(t, strings.Count(path, "{"), inPath, path)
}

// checkSchema holds that a schema can be compiled. References into the document are compiled as what stands there.
func checkSchema(t *testing.T, name string, schema any) {
	t.Helper()
	raw, err := json.Marshal(schema)
	require.NoError(t, err)
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &s), name)
	if !strings.Contains(string(raw), `"$ref"`) {
		_, err = s.Resolve(nil)
		assert.NoError(t, err, name)
	}
}

// walk visits every object in a document.
func walk(v any, visit func(openapiObject)) {
	switch v := v.(type) {
	case openapiObject:
		visit(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], visit)
		}
	case []any:
		for _, one := range v {
			walk(one, visit)
		}
	}
}
