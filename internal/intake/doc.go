// Package intake reads what a person has: text files, folders and archives, as they are. It opens them within bounds,
// splits each text among the readers of results and of outputs of tools, and says of every file what was made of its
// lines. A file that cannot be read is said so, and the others are read all the same. Nothing is written and nothing
// outside the named paths is opened.
package intake
