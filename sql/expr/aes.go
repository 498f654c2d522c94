package expr

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"strings"

	"streamlab/errs"
)

func aesFunctions() []Function {
	text := func(s string) Expr { return StringLit(s) }
	return []Function{
		fn("aes_encrypt(expr, key[, mode[, padding[, iv[, aad]]]])", "AES in mode GCM (nonce, cipher text and tag), CBC (initialization vector and cipher text) or ECB.", func(c *Call) (Expr, error) {
			e, err := sig{in: "bbssbb", min: 2, defaults: []Expr{text("GCM"), text("DEFAULT"), text(""), text("")}, out: tBinary,
				k: bytesRows(aesEncrypt)}.build(c)
			if s, ok := e.(*Scalar); ok && len(c.Args) < 5 {
				s.Nondeterministic = true
				if mode, known := constText(append(c.Args, text("GCM"), text("GCM"))[2], c.Conf); known && len(c.Args) > 2 && strings.EqualFold(mode, "ECB") {
					s.Nondeterministic = false // nothing random goes into it
				}
			}
			return e, err
		}),
		fn("aes_decrypt(expr, key[, mode[, padding[, aad]]])", "Undoes aes_encrypt.", aesDecrypt(false)),
		fn("try_aes_decrypt(expr, key[, mode[, padding[, aad]]])", "As aes_decrypt, null where it fails.", aesDecrypt(true)),
	}
}

// aesNames is how errors name both functions at once.
const aesNames = "`aes_encrypt`/`aes_decrypt`"

// gcmNonce is how many bytes a nonce of GCM has.
const gcmNonce = 12

func aesEncrypt(r *row, dst []byte) ([]byte, error) {
	mode, block, err := aesMode(r)
	if err != nil {
		return dst, err
	}
	iv, aad := r.bytes(4), r.bytes(5)
	size := map[string]int{"GCM": gcmNonce, "CBC": aes.BlockSize, "ECB": 0}[mode]
	switch {
	case len(iv) > 0 && size == 0:
		return dst, errs.New("UNSUPPORTED_FEATURE.AES_MODE_IV", "functionName", "`aes_encrypt`", "mode", mode)
	case len(iv) > 0 && len(iv) != size:
		return dst, errs.New("INVALID_PARAMETER_VALUE.AES_IV_LENGTH", "functionName", aesNames, "parameter", "`iv`",
			"mode", mode, "actualLength", len(iv))
	case len(aad) > 0 && mode != "GCM":
		return dst, noAAD(mode)
	case len(iv) == 0:
		iv = make([]byte, size)
		if _, err := rand.Read(iv); err != nil {
			return dst, errs.Wrap(err, "INTERNAL_ERROR", "message", "no random numbers")
		}
	}
	dst = append(dst, iv...)
	if mode == "GCM" {
		g, err := cipher.NewGCM(block)
		if err != nil {
			return dst, errs.Wrap(err, "INTERNAL_ERROR", "message", "no AES")
		}
		return g.Seal(dst, iv, r.bytes(0), aad), nil
	}
	in := r.bytes(0)
	fill := aes.BlockSize - len(in)%aes.BlockSize
	at := len(dst)
	dst = append(append(dst, in...), bytes.Repeat([]byte{byte(fill)}, fill)...)
	if mode == "CBC" {
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(dst[at:], dst[at:])
		return dst, nil
	}
	for ; at < len(dst); at += aes.BlockSize {
		block.Encrypt(dst[at:at+aes.BlockSize], dst[at:at+aes.BlockSize])
	}
	return dst, nil
}

func aesDecrypt(try bool) func(c *Call) (Expr, error) {
	return sig{in: "bbssb", min: 2, defaults: []Expr{StringLit("GCM"), StringLit("DEFAULT"), StringLit("")}, out: tBinary, null: try,
		k: bytesRows(func(r *row, dst []byte) ([]byte, error) {
			out, err := decrypted(r, dst)
			if err != nil && try {
				return dst, errNull
			}
			return out, err
		})}.build
}

// decrypted appends the plain text of argument 0.
func decrypted(r *row, dst []byte) ([]byte, error) {
	mode, block, err := aesMode(r)
	if err != nil {
		return dst, err
	}
	in, aad := r.bytes(0), r.bytes(4)
	bad := func(detail string) ([]byte, error) {
		return dst, errs.New("INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR", "functionName", aesNames, "parameter", "`expr`, `key`",
			"detailMessage", detail)
	}
	if mode == "GCM" {
		g, err := cipher.NewGCM(block)
		if err != nil {
			return dst, errs.Wrap(err, "INTERNAL_ERROR", "message", "no AES")
		}
		if len(in) < gcmNonce {
			return bad("Invalid buffer arguments")
		}
		if len(in) > gcmNonce {
			if out, err := g.Open(dst, in[:gcmNonce], in[gcmNonce:], aad); err == nil {
				return out, nil
			}
		}
		return bad("Tag mismatch")
	}
	if len(aad) > 0 {
		return dst, noAAD(mode)
	}
	var iv []byte
	if mode == "CBC" {
		if len(in) < aes.BlockSize {
			return bad("Invalid buffer arguments")
		}
		iv, in = in[:aes.BlockSize], in[aes.BlockSize:]
	}
	if len(in)%aes.BlockSize != 0 {
		return bad("Input length must be multiple of 16 when decrypting with padded cipher")
	}
	at := len(dst)
	dst = append(dst, in...)
	out := dst[at:]
	if mode == "CBC" {
		cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, out)
	} else {
		for k := 0; k < len(out); k += aes.BlockSize {
			block.Decrypt(out[k:k+aes.BlockSize], out[k:k+aes.BlockSize])
		}
	}
	if len(out) == 0 {
		return dst, nil
	}
	fill := int(out[len(out)-1])
	if fill == 0 || fill > aes.BlockSize || !bytes.Equal(out[len(out)-fill:], bytes.Repeat([]byte{byte(fill)}, fill)) {
		dst = dst[:at]
		return bad("Given final block not properly padded. Such issues can arise if a bad key is used during decryption.")
	}
	return dst[:len(dst)-fill], nil
}

func noAAD(mode string) error {
	return errs.New("UNSUPPORTED_FEATURE.AES_MODE_AAD", "functionName", "`aes_encrypt`", "mode", mode)
}

// aesMode reads the mode and padding in arguments 2 and 3 and makes the cipher of the key in argument 1.
func aesMode(r *row) (mode string, block cipher.Block, err error) {
	block, err = aes.NewCipher(r.bytes(1))
	if err != nil {
		return "", nil, errs.New("INVALID_PARAMETER_VALUE.AES_KEY_LENGTH", "functionName", aesNames, "parameter", "`key`", "actualLength", len(r.bytes(1)))
	}
	given, padding := string(r.bytes(2)), strings.ToUpper(string(r.bytes(3)))
	mode = strings.ToUpper(given)
	switch {
	case mode == "GCM" && (padding == "DEFAULT" || padding == "NONE"):
	case (mode == "CBC" || mode == "ECB") && (padding == "DEFAULT" || padding == "PKCS"):
	default:
		return "", nil, errs.New("UNSUPPORTED_FEATURE.AES_MODE", "functionName", aesNames, "mode", given, "padding", string(r.bytes(3)))
	}
	return mode, block, nil
}
