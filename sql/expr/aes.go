package expr

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"strings"

	"streamlab/errs"
)

func aesFunctions() []Function {
	text := func(s string) Expr { return StringLit(s) }
	return []Function{
		fn("aes_encrypt(expr, key[, mode[, padding[, iv[, aad]]]])", "AES in mode GCM: nonce, cipher text and tag.", func(c *Call) (Expr, error) {
			e, err := sig{in: "bbssbb", min: 2, defaults: []Expr{text("GCM"), text("DEFAULT"), text(""), text("")}, out: tBinary,
				k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
					g, err := aesMode(r)
					if err != nil {
						return dst, err
					}
					nonce := r.bytes(4)
					if len(nonce) == 0 {
						nonce = make([]byte, g.NonceSize())
						if _, err := rand.Read(nonce); err != nil {
							return dst, errs.Wrap(err, "INTERNAL_ERROR", "message", "no random numbers")
						}
					} else if len(nonce) != g.NonceSize() {
						return dst, errs.New("INVALID_PARAMETER_VALUE.AES_IV_LENGTH", "functionName", aesNames, "parameter", "`iv`",
							"mode", "GCM", "actualLength", len(nonce))
					}
					return g.Seal(append(dst, nonce...), nonce, r.bytes(0), r.bytes(5)), nil
				})}.build(c)
			if s, ok := e.(*Scalar); ok && len(c.Args) < 5 {
				s.Nondeterministic = true
			}
			return e, err
		}),
		fn("aes_decrypt(expr, key[, mode[, padding[, aad]]])", "Undoes aes_encrypt.", aesDecrypt(false)),
		fn("try_aes_decrypt(expr, key[, mode[, padding[, aad]]])", "As aes_decrypt, null where it fails.", aesDecrypt(true)),
	}
}

func aesDecrypt(try bool) func(c *Call) (Expr, error) {
	return sig{in: "bbssb", min: 2, defaults: []Expr{StringLit("GCM"), StringLit("DEFAULT"), StringLit("")}, out: tBinary, null: try,
		k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			g, err := aesMode(r)
			if err == nil {
				in, detail := r.bytes(0), "Tag mismatch"
				if len(in) < g.NonceSize() {
					detail = "Invalid buffer arguments"
				}
				err = errs.New("INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR", "functionName", aesNames, "parameter", "`expr`, `key`",
					"detailMessage", detail)
				if n := g.NonceSize(); len(in) > n {
					if out, bad := g.Open(dst, in[:n], in[n:], r.bytes(4)); bad == nil {
						return out, nil
					}
				}
			}
			if try {
				return dst, errNull
			}
			return dst, err
		})}.build
}

// aesNames is how errors name both functions at once.
const aesNames = "`aes_encrypt`/`aes_decrypt`"

// aesMode makes the cipher of the key in argument 1, for the mode in argument 2.
func aesMode(r *row) (cipher.AEAD, error) {
	if mode, padding := string(r.bytes(2)), string(r.bytes(3)); !strings.EqualFold(mode, "GCM") || !strings.EqualFold(padding, "DEFAULT") && !strings.EqualFold(padding, "NONE") {
		return nil, errs.New("UNSUPPORTED_FEATURE.AES_MODE", "functionName", aesNames, "mode", mode, "padding", padding)
	}
	b, err := aes.NewCipher(r.bytes(1))
	if err != nil {
		return nil, errs.New("INVALID_PARAMETER_VALUE.AES_KEY_LENGTH", "functionName", aesNames, "parameter", "`key`", "actualLength", len(r.bytes(1)))
	}
	return cipher.NewGCM(b)
}

// collateFunctions refuse collations by name; the default one is no change.
func collateFunctions() []Function {
	return []Function{{Name: "collate", Signature: "collate(str, collation)", Doc: "The text under a collation; only UTF8_BINARY is supported.", Portable: true,
		Build: func(c *Call) (Expr, error) {
			if err := c.Arity(2, 2); err != nil {
				return nil, err
			}
			name, _ := constText(c.Args[1], c.Conf)
			if strings.EqualFold(name, "UTF8_BINARY") {
				x, ok := ImplicitCast(c.Args[0], tString, c.Conf)
				if !ok {
					return nil, WrongType(c.Text(), 0, `"STRING"`, c.Args[0])
				}
				return Strict("collate", tString, []Expr{x}, "collate("+c.Args[0].String()+", UTF8_BINARY)", bytesToBytes(func(dst, s []byte) []byte { return append(dst, s...) })), nil
			}
			return nil, errs.New("UNSUPPORTED_FEATURE", "feature", "collation "+name)
		}}}
}
