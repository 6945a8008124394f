//go:build go1.18
// +build go1.18

package main

type pair[K any] struct{ first, second K }

func (p *pair[K]) swapped(note func()) pair[K] {
	note()
	return pair[K]{p.second, p.first}
}

func generic() {
	p := pair[string]{"a", "b"}
	q := pair[int]{1, 2}
	func() { p.swapped(func() { note() }) }()
	q.swapped(note)
}
