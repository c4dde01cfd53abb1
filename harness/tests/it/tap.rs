//! The tap changes nothing and sees everything.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::{
        fd::AsFd as _,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    path::Path,
    process::{Child, Command, Stdio},
};

use harness::{
    supervise::notice::Status,
    tap::record::{Direction, Exit, Frame, Record, Start, Why},
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, kill, killpg},
    unistd::{Pid, getpgid},
};
use proptest::prelude::*;

use crate::bench::verbs;

fn tap(dir: &Path, script: &str) -> Command {
    let mut command = Command::new(verbs());
    command.arg("tap").arg(dir).args(["/bin/sh", "-c", script]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn journal(dir: &Path) -> Vec<Record> {
    let paths: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(paths.len(), 1, "{paths:?}");
    let text = std::fs::read_to_string(&paths[0]).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn frames(journal: &[Record], dir: Direction) -> Vec<&Frame> {
    journal
        .iter()
        .filter_map(|record| match record {
            Record::Frame(frame) if frame.dir == dir => Some(frame),
            _ => None,
        })
        .collect()
}

fn exit(journal: &[Record]) -> &Exit {
    match journal.last() {
        Some(Record::Exit(exit)) => exit,
        other => panic!("the last line is {other:?}"),
    }
}

fn start(journal: &[Record]) -> &Start {
    match journal.first() {
        Some(Record::Start(start)) => start,
        other => panic!("the first line is {other:?}"),
    }
}

/// Sends bytes through `cat` and reads all that comes back.
fn round_trip(bytes: &[u8], script: &str) -> (Vec<u8>, Vec<u8>, Vec<Record>) {
    let dir = tempfile::tempdir().unwrap();
    let mut child = tap(dir.path(), script).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.to_vec();
    let writing = std::thread::spawn(move || stdin.write_all(&sent));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success());
    (output.stdout, output.stderr, journal(dir.path()))
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => any::<u8>(), 1 => Just(b'\n')];
    prop::collection::vec(byte, 0..3000)
}

proptest! {
    // Each case starts two programs.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_passes_both_ways(bytes in any_stream()) {
        let (out, err, journal) = round_trip(&bytes, "tee /dev/stderr");

        prop_assert_eq!(&out, &bytes);
        prop_assert_eq!(&err, &bytes);
        let n_lines = bytes.split_inclusive(|&byte| byte == b'\n').count();
        for dir in [Direction::C2s, Direction::S2c, Direction::Err] {
            let frames = frames(&journal, dir);
            prop_assert_eq!(frames.len(), n_lines);
            let joined: String = frames.iter().map(|f| f.text.clone() + if f.partial { "" } else { "\n" }).collect();
            prop_assert_eq!(joined, lossy_by_line(&bytes));
        }
    }
}

fn lossy_by_line(bytes: &[u8]) -> String {
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .map(String::from_utf8_lossy)
        .collect()
}

#[test]
fn megabytes_pass_whole_and_in_order() {
    let bytes: Vec<u8> = (0..8_000_000u32)
        .map(|n| {
            if n % 1000 == 999 {
                b'\n'
            } else {
                n.to_le_bytes()[1]
            }
        })
        .collect();
    let (out, _, journal) = round_trip(&bytes, "cat");

    assert!(out == bytes);
    assert_eq!(
        (exit(&journal).lost_bytes, exit(&journal).write_errors),
        (0, 0)
    );
}

#[test]
fn the_start_tells_names_and_few_values_and_no_token_is_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = tap(dir.path(), "echo \"$PLUMB_NAMESPACE\"; cat >&2");
    command.env_clear().envs([
        ("PLUMB_NAMESPACE", "tok-41c0"),
        ("DSH_SHELL", "sh"),
        ("API_KEY", "sk-1"),
        ("HOME", "/h"),
    ]);
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"token\":\"tok-41c0\"}\n")
        .unwrap();
    let tap_pid = child.id();
    let output = child.wait_with_output().unwrap();

    assert_eq!(String::from_utf8(output.stdout).unwrap(), "tok-41c0\n");
    let journal = journal(dir.path());
    let start = start(&journal);
    assert_eq!(
        start.env_names,
        ["API_KEY", "DSH_SHELL", "HOME", "PLUMB_NAMESPACE"]
    );
    let env: Vec<_> = start
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(env, ["DSH_SHELL=sh", "HOME=/h", "PLUMB_NAMESPACE=…"]);
    assert_eq!((start.pid, start.ppid), (tap_pid, std::process::id()));
    assert_eq!(
        frames(&journal, Direction::Err)[0].text,
        "{\"token\":\"…\"}"
    );
    assert!(frames(&journal, Direction::Err)[0].masked);
    let whole = std::fs::read_dir(dir.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let whole = std::fs::read_to_string(whole).unwrap();
    assert!(
        !whole.contains("tok-41c0") && !whole.contains("sk-1"),
        "{whole}"
    );
}

#[test]
fn the_exit_code_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        tap(dir.path(), "exit 7").output().unwrap().status.code(),
        Some(7)
    );
    assert_eq!(exit(&journal(dir.path())).status, Status::Code(7));
}

#[test]
fn a_death_by_signal_is_the_taps_own() {
    for number in [9, 15, 11] {
        let dir = tempfile::tempdir().unwrap();
        let status = tap(dir.path(), &format!("kill -{number} $$"))
            .output()
            .unwrap()
            .status;

        assert_eq!(status.signal(), Some(number));
        assert!(
            matches!(exit(&journal(dir.path())).status, Status::Signal { number: told, .. } if told == number)
        );
    }
}

#[test]
fn signals_are_passed_on_once() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let script = format!("trap 'echo got' {name}; echo up; read -r line; echo end; exit 5");
        let mut child = tap(dir.path(), &script).spawn().unwrap();
        let mut up = [0; 3];
        child.stdout.as_mut().unwrap().read_exact(&mut up).unwrap();

        signal(&child, number);
        let mut got = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut got).unwrap();
        let output = child.wait_with_output().unwrap();

        assert_eq!(
            (&got, output.stdout.as_slice(), output.status.code()),
            (b"got\n", b"end\n".as_slice(), Some(5))
        );
    }
}

#[test]
fn a_signal_to_the_clients_group_reaches_the_command_once() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'echo got' TERM; echo $$; read -r line; echo end";
    let mut child = tap(dir.path(), script).process_group(0).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut pid = String::new();
    out.read_line(&mut pid).unwrap();

    // Two deliveries may fall together, so the reason for one is looked at as well.
    let command = Pid::from_raw(pid.trim().parse().unwrap());
    assert_eq!(getpgid(Some(command)).unwrap(), command);
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
    killpg(group, Signal::SIGTERM).unwrap();
    let mut rest = String::new();
    out.read_line(&mut rest).unwrap();
    drop(child.stdin.take());
    out.read_to_string(&mut rest).unwrap();
    child.wait().unwrap();

    assert_eq!(rest, "got\nend\n");
}

#[test]
fn a_client_that_closes_its_input_side_is_seen_at_once() {
    let dir = tempfile::tempdir().unwrap();
    // `yes` ends by SIGPIPE as soon as nobody reads; without that this would never end.
    let mut child = tap(dir.path(), "exec yes").spawn().unwrap();
    drop(child.stdout.take());

    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

#[test]
fn a_command_that_closes_its_output_shows_its_end_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = tap(dir.path(), "echo last; exec >&- 2>&-; read -r line")
        .spawn()
        .unwrap();
    let mut out = String::new();

    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();

    assert_eq!(out, "last\n");
    assert!(
        child.try_wait().unwrap().is_none(),
        "the command still reads"
    );
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_command_that_closes_its_input_breaks_the_clients_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = tap(dir.path(), "exec <&-; echo closed; exec sleep 60")
        .spawn()
        .unwrap();
    let mut out = [0; 7];
    child.stdout.as_mut().unwrap().read_exact(&mut out).unwrap();

    // Without a byte being sent: a pipe whose reader is gone shows an error.
    let stdin = child.stdin.take().unwrap();
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::from(10_000u16)).unwrap();

    assert_eq!(fds[0].revents(), Some(PollFlags::POLLERR));
    signal(&child, 15);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn what_the_command_leaves_behind_does_not_hold_the_tap() {
    let dir = tempfile::tempdir().unwrap();
    let child = tap(dir.path(), "yes & echo $! > pid; exit 3")
        .current_dir(dir.path())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(3));
    std::fs::remove_file(dir.path().join("pid")).unwrap();
    let ends: Vec<_> = journal(dir.path())
        .into_iter()
        .filter_map(|record| match record {
            Record::Eof(eof) if eof.dir == Direction::S2c => Some(eof.why),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [Why::CommandEnded]);
}

#[test]
fn a_last_line_without_an_end_is_noted() {
    let (_, _, journal) = round_trip(b"whole\nhalf", "cat");
    let told: Vec<_> = frames(&journal, Direction::S2c)
        .iter()
        .map(|f| (f.text.as_str(), f.partial))
        .collect();
    assert_eq!(told, [("whole", false), ("half", true)]);
}

#[test]
fn a_request_is_noted_before_its_answer() {
    let (_, _, journal) = round_trip(b"question\n", "read -r line; echo answer");
    let texts: Vec<_> = journal
        .iter()
        .filter_map(|record| match record {
            Record::Frame(frame) => Some(frame.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["question", "answer"]);
}

#[test]
fn without_a_journal_nothing_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let output = tap(&dir.path().join("missing"), "touch started")
        .current_dir(dir.path())
        .output()
        .unwrap();

    assert!(!output.status.success());
    assert!(!dir.path().join("started").exists());
}

#[test]
fn a_journal_that_cannot_be_written_does_not_stop_the_copy() {
    let dir = tempfile::tempdir().unwrap();
    // The limit of zero makes each write of the journal fail; the pipes are no files.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" tap \"$1\" cat";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .args([verbs().as_os_str(), dir.path().as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), b"through\n".as_slice())
    );
}

fn signal(child: &Child, number: i32) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, Signal::try_from(number).unwrap()).unwrap();
}
