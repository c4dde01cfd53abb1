//! What a run leaves that was killed in the middle, and what the next one makes of it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;

/// Set in the process that is going to be killed: the folder of its lab.
const VICTIM: &str = "PROVISION_TEST_VICTIM";

/// Provisions with a client that hangs; started again by the test below as a process of its own.
fn be_the_victim(folder: &Path) {
    let lab = Lab::wheel("hangs");
    let mut surroundings = lab.surroundings.clone();
    surroundings
        .env
        .insert("NOTES".into(), folder.join("notes").into());
    let cache = Cache::at(&folder.join("cache")).unwrap();
    let request = Request {
        build: &lab.build,
        cache: &cache,
        surroundings: &surroundings,
        network: Network::Allowed,
        check: Check::Quick,
    };
    provision(&request, &mut drop).unwrap_err();
}

#[test]
fn a_run_that_is_killed_leaves_nothing_that_the_next_one_takes_for_done() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        return be_the_victim(Path::new(&folder));
    }
    let lab = Lab::wheel("good");
    let started = lab.folder.path().join("notes/started");
    let goes_on = lab.folder.path().join("notes/goes-on");
    for fifo in [&started, &goes_on] {
        mkfifo(fifo, Mode::S_IRWXU).unwrap();
    }
    let mut started = File::options()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(&started)
        .unwrap();
    let test = thread::current().name().unwrap().to_owned();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([&test, "--exact"])
        .env(VICTIM, lab.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut watched = [PollFd::new(started.as_fd(), PollFlags::POLLIN)];
    assert_eq!(
        poll(&mut watched, PollTimeout::from(10_000_u16)).unwrap(),
        1,
        "the client was not started in 10 s"
    );
    let mut said = [0; 8];
    started.read_exact(&mut said).unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();

    let left = lab.in_cache();
    assert!(
        matches!(&left[..], [only] if only.starts_with(".building-dsh-0.2.1-")),
        "{left:?}"
    );
    // The client goes on without its parent, and may still write: nothing is removed under it.
    let (sender, said) = mpsc::channel();
    thread::scope(|scope| {
        let next = scope.spawn(|| lab.run_telling(&sender));
        assert!(matches!(said.recv().unwrap(), Event::Waiting { .. }));
        assert_eq!(lab.in_cache(), left);
        drop(File::options().write(true).open(&goes_on).unwrap());
        next.join().unwrap().unwrap();
    });
    let removed = said.recv().unwrap();
    assert!(
        matches!(&removed, Event::RemovedLeftover { folder } if folder.ends_with(&left[0])),
        "{removed:?}"
    );
    assert_eq!(lab.in_cache(), [format!("dsh-0.2.1-{}", &WHEEL[..16])]);
}

#[test]
fn a_folder_that_another_build_is_making_is_left_alone() {
    let lab = Lab::wheel("good");
    let other = lab
        .cache()
        .root()
        .join(".building-dsh-rc8-0123456789abcdef-x");
    fs::create_dir_all(&other).unwrap();
    lab.run().result.unwrap();
    assert!(other.is_dir());
}

#[test]
fn a_run_waits_for_the_one_that_holds_the_lock_and_says_so() {
    let lab = Lab::wheel("good");
    let hash = lab.build.hash("linux-x64").unwrap();
    let place = lab.cache().place(lab.build.name(), &hash);
    let lock = place.lock(&mut drop).unwrap();
    let (sender, said) = mpsc::channel();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| lab.run_telling(&sender));
        assert!(matches!(said.recv().unwrap(), Event::Waiting { .. }));
        assert_eq!(lab.calls(), "");
        drop(lock);
        waiting.join().unwrap().unwrap();
    });
}
