//! The fake model as a program; everything is in the library.

fn main() {}
