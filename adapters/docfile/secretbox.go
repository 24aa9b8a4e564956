package docfile

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/countersign-dev/countersign/domain/fault"
)

// SecretKeyFile is the name of the file that holds the master key.
const SecretKeyFile = "secret.key"

// version is how values are sealed: version(1) ‖ nonce(12) ‖ ciphertext. No JSON begins with it. Which of two keys is meant while they
// are being exchanged is found out by trying.
const version = 1

// What can be wrong with secrets at rest.
var (
	ErrSecretKey  = fault.New(fault.Unavailable, "secret_key_unusable", "the key that seals secrets cannot be used")
	ErrSecretLost = fault.New(fault.State, "secret_unreadable", "a sealed value cannot be opened with the key there is")
)

// SecretLocation is where a sealed value is kept. It opens nowhere else. Table and Column, which hold no bar, also choose the derived key.
type SecretLocation struct{ Table, Row, Column string }

// bound returns what the ciphertext is bound to. Row alone may hold a bar, so that no two places read the same.
func (p SecretLocation) bound() []byte {
	return []byte(p.Table + "|" + p.Row + "|" + p.Column + "|" + strconv.Itoa(version))
}

// SecretBox seals and opens. Its methods may be called from many goroutines, and many processes may use the same key.
type SecretBox struct {
	dir  *Dir
	mu   sync.Mutex
	ring *keyRing // as the file was last read; nil before
}

// NewSecretBox returns the box whose key is kept in dir. Nothing is opened or made before a value is sealed or opened: sealing makes the directory
// (0700) and the key (0600) when they are missing.
func NewSecretBox(dir string) *SecretBox { return &SecretBox{dir: NewDir(dir)} }

// File returns where the key is.
func (b *SecretBox) File() string { return b.dir.File(SecretKeyFile) }

// IsSealed reports whether the stored bytes look like what Seal makes, rather than like text.
func IsSealed(stored []byte) bool { return len(stored) > 0 && stored[0] == version }

// Seal makes plain unreadable to whoever has no key. Sealing the same again gives other bytes. It fails with ErrKey when the key cannot
// be read or made, or may be read by others.
//
// Whoever stores what it makes calls it inside the transaction that stores it: Rotate counts on what was sealed earlier being stored.
func (b *SecretBox) Seal(at SecretLocation, plain []byte) ([]byte, error) {
	r, err := b.current()
	if errors.Is(err, fs.ErrNotExist) {
		r, err = b.create()
	}
	if err != nil {
		return nil, err
	}
	aead, err := r.cipher(0, at)
	if err != nil {
		return nil, err
	}
	blob := make([]byte, 1, 1+aead.Overhead()+len(plain))
	blob[0] = version
	return aead.Seal(blob, nil, plain, at.bound()), nil
}

// Open decrypts a value that was sealed for that location. It fails with ErrSecretLost if it was sealed for another location or under another key, or was
// modified.
func (b *SecretBox) Open(at SecretLocation, blob []byte) ([]byte, error) {
	if !IsSealed(blob) {
		return nil, ErrSecretLost.Sayf("%s of %s %q was not sealed by a Countersign that this one knows; update this program", at.Column, at.Table, at.Row)
	}
	b.mu.Lock()
	had := b.ring
	b.mu.Unlock()
	if had != nil {
		if plain, opened, err := had.open(at, blob); opened || err != nil {
			return plain, err
		}
	}
	now, err := b.current() // the key may have been exchanged since it was read
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.lost(at, "is missing")
	}
	if err != nil {
		return nil, err
	}
	if now != had {
		if plain, opened, err := now.open(at, blob); opened || err != nil {
			return plain, err
		}
	}
	return nil, b.lost(at, "is another one than it was sealed with, or it was altered since")
}

func (b *SecretBox) lost(at SecretLocation, why string) error {
	return ErrSecretLost.Sayf("%s of %s %q cannot be opened: the key %s %s; put that file back from a copy, or remove what it sealed and store it anew",
		at.Column, at.Table, at.Row, b.File(), why)
}

// current returns the keys as the file holds them now, or fs.ErrNotExist. Looking whether the file has changed costs a microsecond or two.
func (b *SecretBox) current() (*keyRing, error) {
	info, err := os.Stat(b.File())
	if err != nil {
		return nil, b.unusable(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil || !b.ring.from(info) {
		r, err := b.read()
		if err != nil {
			return nil, err
		}
		b.ring = r
	}
	return b.ring, nil
}

// keyRing is the master keys in one state of the file, and the ciphers made of them. There is one, the newest first while it is exchanged.
type keyRing struct {
	info    fs.FileInfo
	masters [][]byte
	mu      sync.Mutex
	ciphers map[purpose]cipher.AEAD
}

// purpose is what a derived key is for.
type purpose struct {
	master        int
	table, column string
}

// from reports whether the file has not changed since.
func (r *keyRing) from(info fs.FileInfo) bool {
	return os.SameFile(r.info, info) && r.info.ModTime().Equal(info.ModTime()) && r.info.Size() == info.Size() && r.info.Mode() == info.Mode()
}

// open tries every key, and reports whether one fits.
func (r *keyRing) open(at SecretLocation, blob []byte) ([]byte, bool, error) {
	for i := range r.masters {
		aead, err := r.cipher(i, at)
		if err != nil {
			return nil, false, err
		}
		if plain, err := aead.Open(nil, nil, blob[1:], at.bound()); err == nil {
			return plain, true, nil
		}
	}
	return nil, false, nil
}

// cipher returns the one for the place under that master key.
func (r *keyRing) cipher(master int, at SecretLocation) (cipher.AEAD, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := purpose{master, at.Table, at.Column}
	if made, there := r.ciphers[of]; there {
		return made, nil
	}
	key, err := hkdf.Key(sha256.New, r.masters[master], nil, "countersign secrets at rest v1: "+at.Table+"."+at.Column, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	made, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	r.ciphers[of] = made
	return made, nil
}
