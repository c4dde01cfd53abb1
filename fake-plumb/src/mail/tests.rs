//! Who gets which note, and how often.

use super::*;

fn reader(name: &str) -> Reader {
    Reader {
        id: SessionId::from_text(&format!("id-{name}")),
        name: name.to_owned(),
        namespace: None,
    }
}

fn room(faults: &str) -> (tempfile::TempDir, Mailroom) {
    let clock = Clock::default();
    (
        tempfile::tempdir().unwrap(),
        Mailroom::new(clock, &Faults::parse(faults).unwrap()),
    )
}

/// Whom a note is for.
#[derive(Clone, Copy)]
enum To<'a> {
    Next,
    Bound(&'a str),
}

fn send(room: &Mailroom, ws: &Path, author: &str, to: To<'_>, body: &str) {
    let author = reader(author);
    let bound = match to {
        To::Next => None,
        To::Bound(name) => Some(reader(name)),
    };
    let draft = Draft {
        author: &author,
        body,
        addressee: bound.as_ref().map_or(NEXT, |reader| &reader.name),
        bound: bound.as_ref().map(|reader| &reader.id),
        conversation: body,
    };
    room.send(ws, &draft).unwrap();
}

fn bodies(room: &Mailroom, ws: &Path, who: &Reader) -> Vec<String> {
    room.claim(ws, who)
        .unwrap()
        .into_iter()
        .map(|note| note.body)
        .collect()
}

#[test]
fn a_note_for_the_next_goes_to_another_session_once_and_never_to_its_author() {
    let (dir, room) = room("");
    send(&room, dir.path(), "a", To::Next, "red");
    assert!(bodies(&room, dir.path(), &reader("a")).is_empty());
    assert_eq!(bodies(&room, dir.path(), &reader("b")), ["red"]);
    assert!(bodies(&room, dir.path(), &reader("c")).is_empty());
}

#[test]
fn a_bound_note_strands_when_the_name_comes_back_under_another_id() {
    let (dir, room) = room("");
    send(&room, dir.path(), "a", To::Bound("b"), "red");
    let heir = Reader {
        id: SessionId::from_text("other"),
        ..reader("b")
    };
    assert!(bodies(&room, dir.path(), &heir).is_empty());
    assert_eq!(bodies(&room, dir.path(), &reader("b")), ["red"]);
}

#[test]
fn a_namespace_does_not_see_the_mail_of_another() {
    let (dir, room) = room("");
    send(&room, dir.path(), "a", To::Next, "red");
    let outside = Reader {
        namespace: Some(NamespaceId::from_text("ns-1")),
        ..reader("b")
    };
    assert!(bodies(&room, dir.path(), &outside).is_empty());
    assert!(room.waiting(dir.path(), &outside).unwrap().is_empty());
    assert_eq!(room.waiting(dir.path(), &reader("b")).unwrap().len(), 1);
}

#[test]
fn at_most_three_notes_come_at_a_time_in_order() {
    let (dir, room) = room("");
    for body in ["1", "2", "3", "4"] {
        send(&room, dir.path(), "a", To::Next, body);
    }
    assert_eq!(bodies(&room, dir.path(), &reader("b")), ["1", "2", "3"]);
    assert_eq!(bodies(&room, dir.path(), &reader("b")), ["4"]);
}

#[test]
fn the_fault_delivers_every_note_twice() {
    let (dir, room) = room("mail-twice");
    send(&room, dir.path(), "a", To::Next, "red");
    for expected in [1, 1, 0] {
        assert_eq!(bodies(&room, dir.path(), &reader("b")).len(), expected);
    }
}

#[test]
fn a_workspace_made_anew_has_no_old_mail() {
    let (dir, room) = room("");
    send(&room, dir.path(), "a", To::Next, "red");
    fs::remove_dir_all(dir.path().join(".plumb")).unwrap();
    send(&room, dir.path(), "a", To::Next, "blue");
    assert_eq!(bodies(&room, dir.path(), &reader("b")), ["blue"]);
}
