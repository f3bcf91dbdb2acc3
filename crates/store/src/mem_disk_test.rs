use super::*;

#[test]
fn synced_bytes_and_names_survive_every_power_cut() {
    for seed in 0..200 {
        let disk = MemDisk::new(seed);
        let file = disk.create("a").unwrap();
        file.write_all_at(&[1; 5000], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir().unwrap();
        file.write_all_at(&[2; 5000], 5000).unwrap();
        disk.create("b").unwrap();
        disk.power_cut();
        let content = disk.content("a").unwrap();
        assert!(
            content.len() >= 5000 && content[..5000] == [1; 5000],
            "seed {seed}"
        );
        let torn = &content[5000..];
        assert!(torn.iter().all(|byte| [0, 2].contains(byte)), "seed {seed}");
    }
}

#[test]
fn power_cut_may_leave_holes_and_lose_names() {
    let (mut holes, mut lost) = (0, 0);
    for seed in 0..200 {
        let disk = MemDisk::new(seed);
        disk.create("a")
            .unwrap()
            .write_all_at(&[2; 5000], 0)
            .unwrap();
        disk.power_cut();
        let content = disk.content("a");
        lost += usize::from(content.is_none());
        let content = content.unwrap_or_default();
        let hole = content.iter().position(|byte| *byte == 0);
        holes += usize::from(hole.is_some_and(|at| content[at..].contains(&2)));
    }
    assert!(
        holes > 0 && lost > 0,
        "{holes} with holes, {lost} names lost"
    );
}

#[test]
fn full_disk_takes_a_part_of_a_write() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    disk.inject(Fault::Full { capacity: 10 });
    assert_eq!(file.write_at(&[1; 15], 0).unwrap(), 10);
    let error = file.write_all_at(&[1; 5], 10).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    file.write_all_at(&[2; 10], 0).unwrap();
    assert_eq!(disk.space().unwrap(), Space { free: 0, total: 10 });
}

#[test]
fn crowded_disk_is_as_large_as_before() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    file.write_all_at(&[1; 7], 0).unwrap();
    let total = disk.space().unwrap().total;
    disk.inject(Fault::Crowded { room: 3 });
    assert_eq!(disk.space().unwrap(), Space { free: 3, total });
    assert_eq!(file.write_at(&[1; 5], 7).unwrap(), 3);
    disk.lift(Fault::Crowded { room: 0 });
    file.write_all_at(&[1; 5], 10).unwrap();
}

#[test]
fn what_a_failed_sync_lost_can_be_read_until_the_page_cache_goes() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    file.write_all_at(b"synced ", 0).unwrap();
    file.sync_data().unwrap();
    file.write_all_at(b"LOST appended", 2).unwrap();
    disk.inject(Fault::SyncFails { after: 0 });
    assert!(file.sync_data().is_err());
    disk.lift(Fault::SyncFails { after: 0 });
    file.write_all_at(b"again", 10).unwrap();
    file.sync_data().unwrap();
    assert_eq!(disk.content("a").unwrap(), b"syLOST appagain");
    disk.drop_page_cache();
    assert_eq!(disk.content("a").unwrap(), b"synced \0\0\0again");
}

#[test]
fn power_cut_undoes_any_part_of_an_overwrite_and_of_a_cut() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..5000 {
        let disk = MemDisk::new(seed);
        let file = disk.create("a").unwrap();
        file.write_all_at(&[1; 1024], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir().unwrap();
        file.write_all_at(&[2; 1024], 0).unwrap();
        file.write_all_at(&[3; 1024], 0).unwrap();
        file.set_len(600).unwrap();
        disk.power_cut();
        let content = disk.content("a").unwrap();
        assert!((600..=1024).contains(&content.len()), "seed {seed}");
        assert!(content[..512].iter().all(|byte| *byte == content[0]));
        seen.insert((content[0], content[512], content.len() == 1024));
    }
    for first in 1..=3 {
        for second in 1..=3 {
            for is_uncut in [false, true] {
                let it = (first, second, is_uncut);
                assert!(seen.contains(&it), "{it:?} of {seen:?}");
            }
        }
    }
}

#[test]
fn dead_process_changes_nothing_more() {
    let disk = MemDisk::new(1);
    let file = disk.create("a").unwrap();
    disk.inject(Fault::Dies { after: 1 });
    file.write_all_at(b"alive", 0).unwrap();
    assert!(file.write_all_at(b"dying", 5).is_err());
    let content = disk.content("a").unwrap();
    assert!(file.write_all_at(b"dead", 5).is_err());
    assert!(disk.create("b").is_err() && disk.remove("a").is_err());
    assert_eq!(disk.content("a").unwrap(), content);
    disk.lift(Fault::Dead);
    file.write_all_at(b"reborn", 5).unwrap();
    disk.inject(Fault::Dead);
    assert!(file.write_all_at(b"dead", 0).is_err());
    assert_eq!(disk.content("a").unwrap(), b"alivereborn");
}

#[test]
fn same_seed_gives_the_same_run() {
    let run = || {
        let disk = MemDisk::new(77);
        disk.create("a")
            .unwrap()
            .write_all_at(&[2; 50_000], 0)
            .unwrap();
        disk.sync_dir().unwrap();
        disk.power_cut();
        disk.content("a")
    };
    assert_eq!(run(), run());
}
