package ui

import (
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strings"
)

// assetFiles holds the stylesheet, scripts and images. Mermaid, which draws diagrams, is version 11.17.2 of @mermaid-js/tiny (MIT licence), unchanged, compressed once. mermaid.js.gz.sha256 is its sum.
//
//go:embed static/*
var assetFiles embed.FS

// types maps name suffixes to media types, independent of the machine.
var types = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// AssetHandler serves /assets/NAME. The assets change only with the binary, so browsers only revalidate them.
func AssetHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		media, known := types[path.Ext(name)]
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET or HEAD", http.StatusMethodNotAllowed)
			return
		}
		body, zipped := content(name)
		if !known || body == nil || r.URL.Path != "/assets/"+name {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(body)
		tag := `"` + hex.EncodeToString(sum[:8]) + `"`
		h := w.Header()
		h.Set("Content-Type", media)
		h.Set("Cache-Control", "no-cache")
		h.Set("Vary", "Accept-Encoding")
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, body, zipped)
	})
}

// content returns the file with that name, and whether it is compressed; nil if there is none.
func content(name string) ([]byte, bool) {
	if body, err := assetFiles.ReadFile("static/" + name); err == nil {
		return body, false
	}
	body, err := assetFiles.ReadFile("static/" + name + ".gz")
	if err != nil {
		return nil, false
	}
	return body, true
}

// send writes the body in an encoding that the client accepts.
func send(w http.ResponseWriter, r *http.Request, body []byte, zipped bool) {
	switch takes := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"); {
	case zipped && takes:
		w.Header().Set("Content-Encoding", "gzip")
	case zipped:
		if unzip, err := gzip.NewReader(strings.NewReader(string(body))); err == nil && r.Method == http.MethodGet {
			_, _ = io.Copy(w, unzip) // the client may be gone
		}
		return
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(body)
	}
}
