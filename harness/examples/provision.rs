//! Provisions a pinned build of dsh for real: `provision BUILD CACHE [--offline] [--verify]`.
//!
//! Run by hand; it fetches. It must never be run by a test.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its terminal"
)]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use harness::agent::dsh::{
    Cache, Check, Network, Request, Surroundings, find, provision, version_of,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, cache, flags @ ..] = &args[..] else {
        return Err("usage: provision BUILD CACHE [--offline] [--verify]".into());
    };
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let started = Instant::now();
    let request = Request {
        build: &find(name)?,
        cache: &Cache::at(Path::new(cache))?,
        surroundings: &Surroundings::of_this_machine(std::env::vars_os().collect()),
        network: if has("--offline") {
            Network::Offline
        } else {
            Network::Allowed
        },
        check: if has("--verify") {
            Check::EveryFile
        } else {
            Check::Quick
        },
    };
    match provision(&request, &mut |event| {
        eprintln!("{:>8.3} s  {event}", started.elapsed().as_secs_f64());
    }) {
        Ok(installed) => {
            let took = started.elapsed().as_secs_f64() * 1000.0;
            let dirs = installed
                .path_dirs
                .iter()
                .map(|dir| dir.to_string_lossy().into_owned());
            let path: Vec<_> = dirs.chain(["/usr/bin".into(), "/bin".into()]).collect();
            let version = version_of(&installed.executable, &path.join(":"))?;
            println!("{installed:#?}\nin {took:.2} ms; it says it is {version}");
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            eprintln!("error: {error}\n\nhint: {}", error.hint());
            Ok(ExitCode::from(2))
        }
    }
}
