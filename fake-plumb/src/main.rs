//! The thin binary `fake-plumb`; everything is in the library, which `dsh-e2e` embeds as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    fake_plumb::main_with(std::env::args_os())
}
