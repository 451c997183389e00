// Package diagnose goes from measurements and findings to a verdict and ranked causes. It is pure.
package diagnose
