package fakeserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Handler returns a server that takes the password, for tests that need no process.
func Handler(password string) http.Handler { return handler(password, map[string]string{}) }

// server is what a server holds.
type server struct {
	mu          sync.Mutex
	sessions    []session
	messages    map[string][]any
	permissions []map[string]any
	questions   []map[string]any
	quirks      map[string]string
	password    string
	made        int
	checks      int               // of health
	busy        map[string]string // session → the directory it works in
}

type session struct {
	ID        string           `json:"id"`
	Slug      string           `json:"slug"`
	Title     string           `json:"title"`
	Directory string           `json:"directory"`
	Version   string           `json:"version"`
	Time      map[string]int64 `json:"time"`
}

func handler(password string, quirks map[string]string) http.Handler {
	s := &server{messages: map[string][]any{}, busy: map[string]string{}, quirks: quirks, password: password}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /global/health":   s.health,
		"GET /{$}":             func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html><title>opencode</title>") },
		"GET /project/current": s.project,
		"GET /vcs": func(w http.ResponseWriter, _ *http.Request) {
			give(w, map[string]string{"branch": "main", "default_branch": "main"})
		},
		"GET /session":                    s.list,
		"POST /session":                   s.create,
		"GET /session/status":             s.working,
		"GET /session/{id}":               s.one,
		"DELETE /session/{id}":            s.remove,
		"GET /session/{id}/message":       s.history,
		"POST /session/{id}/message":      s.message,
		"POST /session/{id}/prompt_async": s.prompt,
		"POST /session/{id}/abort":        s.abort,
		"GET /permission":                 func(w http.ResponseWriter, _ *http.Request) { s.pending(w, &s.permissions) },
		"POST /permission/{id}/reply":     func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, &s.permissions, "Permission") },
		"GET /question":                   func(w http.ResponseWriter, _ *http.Request) { s.pending(w, &s.questions) },
		"POST /question/{id}/reply":       func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, &s.questions, "Question") },
		"POST /question/{id}/reject":      func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, &s.questions, "Question") },
	} {
		mux.HandleFunc(pattern, serve)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, word, ok := r.BasicAuth(); !ok || name != "opencode" || word != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func give(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client that asked may be gone
}

func refuse(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func directory(r *http.Request) string {
	if dir := r.URL.Query().Get("directory"); dir != "" {
		return dir
	}
	dir, _ := os.Getwd()
	return dir
}

func (s *server) health(w http.ResponseWriter, r *http.Request) {
	_, hang := s.quirks["hang"]
	if most := s.quirks["freeze"]; most != "" {
		s.mu.Lock()
		s.checks++
		hang = s.checks > number(most)
		s.mu.Unlock()
	}
	if hang {
		<-r.Context().Done()
		return
	}
	if _, old := s.quirks["old"]; old {
		http.NotFound(w, r)
		return
	}
	_, unhealthy := s.quirks["unhealthy"]
	give(w, map[string]any{"healthy": !unhealthy, "version": Version})
}

func (s *server) project(w http.ResponseWriter, r *http.Request) {
	give(w, map[string]any{"id": "fake", "worktree": directory(r), "vcs": "git", "time": map[string]int{"created": 1}, "sandboxes": []string{}})
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []session{}
	for _, one := range s.sessions {
		if one.Directory == directory(r) {
			found = append(found, one)
		}
	}
	give(w, found)
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, map[string]any{"name": "BadRequest", "data": map[string]string{"message": "the body is no JSON"}})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	one := session{ID: fmt.Sprintf("ses_fake%04d", s.made), Slug: "fake-session", Title: in.Title, Directory: directory(r), Version: Version, Time: map[string]int64{"created": 1, "updated": 1}}
	s.sessions = append(s.sessions, one)
	give(w, one)
}

// known returns the session of a request; without one the request has been refused. The caller holds the lock.
func (s *server) known(w http.ResponseWriter, r *http.Request) (int, bool) {
	i := slices.IndexFunc(s.sessions, func(one session) bool { return one.ID == r.PathValue("id") })
	if i < 0 {
		refuse(w, http.StatusNotFound, map[string]any{"name": "NotFoundError", "data": map[string]string{"message": "Session not found: " + r.PathValue("id")}})
	}
	return i, i >= 0
}

func (s *server) one(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.known(w, r); ok {
		give(w, s.sessions[i])
	}
}

func (s *server) remove(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := s.known(w, r); ok {
		s.sessions = slices.Delete(s.sessions, i, i+1)
		give(w, true)
	}
}

// working is the sessions of a directory whose agent is at work. One that is idle is not mentioned.
func (s *server) working(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]any{}
	for id, dir := range s.busy {
		if dir == directory(r) {
			out[id] = map[string]string{"type": "busy"}
		}
	}
	give(w, out)
}

func (s *server) abort(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known(w, r); ok {
		delete(s.busy, r.PathValue("id"))
		give(w, true)
	}
}

func (s *server) history(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known(w, r); ok {
		all := s.messages[r.PathValue("id")]
		if all == nil {
			all = []any{}
		}
		give(w, all)
	}
}

// prompt has the agent work until it is aborted when the text begins with "work".
func (s *server) prompt(w http.ResponseWriter, r *http.Request) {
	if text, ok := s.said(w, r); ok {
		if strings.HasPrefix(text, "work") {
			s.mu.Lock()
			s.busy[r.PathValue("id")] = directory(r)
			s.mu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// message answers what it is told, and does what the text's first word says: "wait" never answers, "die" ends the process in the middle of its answer,
// "break" the connection, "leak" repeats the password, "long" answers with ten megabytes, "fail" with an error, "ask" leaves a permission and a
// question behind.
func (s *server) message(w http.ResponseWriter, r *http.Request) {
	text, ok := s.said(w, r)
	if !ok {
		return
	}
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "wait":
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
		}
		return
	case "die", "break":
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"info":{"id":"msg_`))
		_ = http.NewResponseController(w).Flush()
		if word == "die" {
			os.Exit(9)
		}
		panic(http.ErrAbortHandler)
	case "fail":
		refuse(w, http.StatusInternalServerError, map[string]any{"name": "UnknownError", "data": map[string]string{"message": "no model; the password is " + s.password}})
		return
	case "leak":
		text = "the password is " + s.password
	case "long":
		text = strings.Repeat("long ", 2<<20)
	case "ask":
		s.ask(r.PathValue("id"))
	}
	reply := map[string]any{
		"info": map[string]any{"id": "msg_fake", "sessionID": r.PathValue("id"), "role": "assistant", "modelID": "fake", "providerID": "fake", "finish": "stop"},
		"parts": []any{
			map[string]any{"type": "step-start", "id": "prt_1"},
			map[string]any{"type": "tool", "id": "prt_2", "tool": "bash", "state": map[string]any{"status": "completed", "title": "list files", "output": strings.Repeat("x", 2000)}},
			map[string]any{"type": "text", "id": "prt_3", "text": "You said: " + text},
		},
	}
	s.mu.Lock()
	s.messages[r.PathValue("id")] = append(s.messages[r.PathValue("id")], reply)
	s.mu.Unlock()
	give(w, reply)
}

// said returns the text of a request, which is recorded.
func (s *server) said(w http.ResponseWriter, r *http.Request) (string, bool) {
	var in struct {
		Parts []struct{ Type, Text string }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.known(w, r); !ok {
		return "", false
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Parts) == 0 || in.Parts[0].Type != "text" {
		refuse(w, http.StatusBadRequest, map[string]any{"name": "BadRequest", "data": map[string]string{"message": "parts are missing"}})
		return "", false
	}
	id := r.PathValue("id")
	s.messages[id] = append(s.messages[id], map[string]any{"info": map[string]any{"id": "msg_user", "sessionID": id, "role": "user"}, "parts": in.Parts})
	return in.Parts[0].Text, true
}

func (s *server) ask(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	s.permissions = append(s.permissions, map[string]any{"id": fmt.Sprintf("per_fake%d", s.made), "sessionID": session, "permission": "bash", "patterns": []string{"rm -rf build"},
		"metadata": map[string]any{}, "always": []string{"rm *"}})
	s.questions = append(s.questions, map[string]any{"id": fmt.Sprintf("que_fake%d", s.made), "sessionID": session, "questions": []any{
		map[string]any{"question": "Which database?", "header": "DB", "options": []any{map[string]string{"label": "sqlite"}, map[string]string{"label": "postgres"}}}}})
}

func (s *server) pending(w http.ResponseWriter, list *[]map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *list == nil {
		*list = []map[string]any{}
	}
	give(w, *list)
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, list *[]map[string]any, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(*list, func(one map[string]any) bool { return one["id"] == r.PathValue("id") })
	if i < 0 {
		refuse(w, http.StatusNotFound, map[string]any{"_tag": what + "NotFoundError", "requestID": r.PathValue("id"), "message": what + " request not found: " + r.PathValue("id")})
		return
	}
	*list = slices.Delete(*list, i, i+1)
	give(w, true)
}
