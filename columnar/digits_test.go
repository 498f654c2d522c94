package columnar

import (
	"math"
	"testing"
)

// The texts are what Java 17 prints.
func TestAppendScientificHasJavasDigits(t *testing.T) {
	for _, c := range []struct {
		f    float64
		bits int
		want string
	}{
		{math.Ldexp(1, -126), 32, "1.17549435e-38"},
		{math.SmallestNonzeroFloat32, 32, "1.4e-45"},
		{math.SmallestNonzeroFloat64, 64, "4.9e-324"},
		{math.MaxFloat64, 64, "1.7976931348623157e+308"},
		{2147483648, 32, "2.14748365e+9"},
		{123456792, 32, "1.23456792e+8"},
		{12345678, 32, "1.2345678e+7"},
		{1 << 60, 64, "1.15292150460684698e+18"},
		{1e10, 64, "1e+10"},
		{1e23, 64, "1.0e+23"},
		{math.Ldexp(1, -44), 64, "5.6843418860808015e-14"},
		{1.5e-7, 64, "1.5e-07"},
	} {
		if got := string(AppendScientific(nil, c.f, c.bits)); got != c.want {
			t.Errorf("%g (%d bits): got %s, want %s", c.f, c.bits, got, c.want)
		}
	}
}
