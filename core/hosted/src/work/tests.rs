//! Connections whose answers come from a pool; the test is their loop.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Weak, mpsc};
use std::time::{Duration, Instant};

use evserver_core::{Action, Buffers, Connection, Late, Limits, Next, Protocol, Reply, Time};

use super::*;
use crate::handle::Job;
use crate::waker::WakeSource;

/// Only what hangs takes so long.
const FOREVER: Duration = Duration::from_secs(60);
const TIMEOUT_MS: u32 = 5_000;
const START: Time = Time::from_ms(0);

type Task = Box<dyn FnOnce() -> String + Send>;

/// Submits the next task of the test for a line, and answers with its result.
struct Client {
    pool: Weak<WorkPool>,
    handle: Handle<Self>,
    tasks: mpsc::Receiver<Task>,
    submitted: Option<Submitted>,
    answer: String,
}

impl Protocol for Client {
    fn room(&self, _: usize) -> usize {
        0
    }

    fn line(&mut self, _: &[u8], reply: &mut Reply<'_>) -> Next {
        let ticket = reply.ticket(TIMEOUT_MS);
        let pool = self.pool.upgrade().expect("the test keeps the pool");
        let task = self.tasks.try_recv().expect("the test has a task for each line");
        let answer = |client: &mut Self, result: Result<String, WorkPanicked>| {
            client.answer = result.unwrap_or_else(|panicked| panicked.to_string());
        };
        self.submitted = Some(pool.submit(&self.handle, ticket, task, answer));
        Next::Later(ticket)
    }

    fn completed(&mut self, reply: &mut Reply<'_>) -> Next {
        self.submitted = None;
        reply.put(self.answer.as_bytes()).map_or(Next::Close, |()| Next::Line)
    }

    fn ticket_expired(&mut self, reply: &mut Reply<'_>) -> Next {
        self.submitted = None;
        reply.put(b"too late").map_or(Next::Close, |()| Next::Line)
    }
}

/// A connection, and the loop that it is alone in.
struct Alone {
    connection: Connection<Client, Box<Buffers>>,
    tasks: mpsc::Sender<Task>,
    handle: Handle<Client>,
    woken: WakeSource,
}

impl Alone {
    fn new(pool: &Arc<WorkPool>) -> Self {
        let (handle, woken) = Handle::pair().unwrap();
        let (tasks, receiver) = mpsc::channel();
        let client = Client {
            pool: Arc::downgrade(pool),
            handle: handle.clone(),
            tasks: receiver,
            submitted: None,
            answer: String::new(),
        };
        let mut connection = Connection::new(client, &Limits::new(), START);
        connection.lend(Box::default(), START);
        Self { connection, tasks, handle, woken }
    }

    /// A line comes, for which this is to be done.
    fn ask(&mut self, task: impl FnOnce() -> String + Send + 'static) {
        self.tasks.send(Box::new(task)).unwrap();
        self.connection.receive_space()[0] = b'\n';
        self.connection.received(1, START);
        assert_eq!(self.connection.action(), Action::Wait);
    }

    /// Waits for the answer to be handed over, and takes it to the connection.
    fn bring(&mut self) -> Result<(), Late> {
        let until = Instant::now() + FOREVER;
        loop {
            assert!(Instant::now() < until, "no answer comes");
            assert!(self.woken.wait(Some(FOREVER)).unwrap(), "an answer wakes the loop");
            self.woken.clear();
            if let Some(Job::Complete(ticket, answer)) = self.handle.next() {
                return self.connection.complete(ticket, START, answer);
            }
        }
    }

    fn said(&mut self) -> String {
        let said = String::from_utf8(self.connection.transmit().to_vec()).unwrap();
        self.connection.transmitted(said.len(), START);
        said
    }

    fn answered(&mut self) -> String {
        self.bring().expect("the answer is waited for");
        self.said()
    }
}

fn pool(threads: usize) -> Arc<WorkPool> {
    Arc::new(WorkPool::new(NonZeroUsize::new(threads).unwrap()).unwrap())
}

/// A task that says that it has begun, and ends when it is told so.
fn gate() -> (impl FnOnce() -> String + Send + 'static, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((begin, begun), (end, ended)) = (mpsc::channel(), mpsc::channel());
    let task = move || {
        let _ = begin.send(());
        let _ = ended.recv();
        "done".to_owned()
    };
    (task, begun, end)
}

#[test]
fn an_answer_comes_from_another_thread() {
    let pool = pool(1);
    let mut alone = Alone::new(&pool);
    let loop_thread = thread::current().id();
    alone.ask(move || {
        assert_ne!(thread::current().id(), loop_thread);
        "from elsewhere".to_owned()
    });
    assert_eq!(alone.answered(), "from elsewhere");
    alone.ask(|| "again".to_owned());
    assert_eq!(alone.answered(), "again");
}

#[test]
fn no_more_runs_at_a_time_than_there_are_threads_and_everybody_is_answered() {
    const THREADS: usize = 3;
    const CLIENTS: usize = 200;
    let pool = pool(THREADS);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut clients: Vec<Alone> = (0..CLIENTS).map(|_| Alone::new(&pool)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        client.ask(move || {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(1));
            running.fetch_sub(1, Ordering::SeqCst);
            number.to_string()
        });
    }
    for (number, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.answered(), number.to_string());
    }
    assert!((1..=THREADS).contains(&most.load(Ordering::SeqCst)), "{most:?} at a time");
    assert_eq!(pool.waiting(), 0);
}

#[test]
fn work_is_begun_in_the_order_in_which_it_was_handed_in() {
    let pool = pool(1);
    let mut first = Alone::new(&pool);
    let (task, begun, end) = gate();
    first.ask(task);
    begun.recv().unwrap();
    let (order, begun_in) = mpsc::channel();
    let mut others: Vec<Alone> = (0..20).map(|_| Alone::new(&pool)).collect();
    for (number, other) in others.iter_mut().enumerate() {
        let order = order.clone();
        other.ask(move || {
            order.send(number).unwrap();
            String::new()
        });
    }
    assert_eq!(pool.waiting(), 20);
    end.send(()).unwrap();
    assert_eq!(first.answered(), "done");
    assert!(begun_in.iter().take(20).eq(0..20));
}

#[test]
fn a_panic_in_work_is_an_answer_and_the_thread_lives_on() {
    let pool = pool(1);
    let mut alone = Alone::new(&pool);
    for _ in 0..3 {
        alone.ask(|| panic!("a panic that this test wants"));
        assert_eq!(alone.answered(), "the work panicked");
    }
    alone.ask(|| "alive".to_owned());
    assert_eq!(alone.answered(), "alive");
}

#[test]
fn work_goes_with_its_connection() {
    let pool = pool(1);
    let mut first = Alone::new(&pool);
    let (task, begun, end) = gate();
    first.ask(task);
    begun.recv().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    // Clients that come, ask and go while the only thread is busy leave nothing behind.
    for _ in 0..100 {
        let mut other = Alone::new(&pool);
        let ran = Arc::clone(&ran);
        other.ask(move || {
            ran.fetch_add(1, Ordering::SeqCst);
            String::new()
        });
        assert_eq!(pool.waiting(), 1);
    }
    assert_eq!(pool.waiting(), 0);
    assert_eq!(Arc::strong_count(&ran), 1, "what the work owned is gone too");
    end.send(()).unwrap();
    assert_eq!(first.answered(), "done");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

#[test]
fn work_whose_ticket_timed_out_is_withdrawn_or_its_answer_refused() {
    let pool = pool(1);
    let (mut begun_one, mut waiting_one) = (Alone::new(&pool), Alone::new(&pool));
    let (task, begun, end) = gate();
    begun_one.ask(task);
    begun.recv().unwrap();
    waiting_one.ask(|| unreachable!("this was withdrawn"));
    for client in [&mut begun_one, &mut waiting_one] {
        client.connection.handle_timeout(START.after(TIMEOUT_MS));
        assert_eq!(client.said(), "too late");
        assert_eq!(client.connection.action(), Action::Receive, "the next line may come");
    }
    assert_eq!(pool.waiting(), 0);
    end.send(()).unwrap();
    assert_eq!(begun_one.bring(), Err(Late));
    assert_eq!(begun_one.said(), "");
}

#[test]
fn dropping_a_pool_waits_for_what_runs_and_drops_what_waits() {
    let pool = pool(2);
    let mut clients = [Alone::new(&pool), Alone::new(&pool), Alone::new(&pool)];
    let (first_task, first_begun, first_end) = gate();
    let (second_task, second_begun, second_end) = gate();
    clients[0].ask(first_task);
    clients[1].ask(second_task);
    first_begun.recv().unwrap();
    second_begun.recv().unwrap();
    clients[2].ask(|| unreachable!("this is dropped"));
    let queue = Arc::clone(&pool.queue);
    let dropper = thread::spawn(move || drop(pool));
    let until = Instant::now() + FOREVER;
    while !queue.state().closing {
        assert!(Instant::now() < until, "the pool does not close");
        thread::yield_now();
    }
    assert!(!dropper.is_finished(), "two pieces of work still run");
    first_end.send(()).unwrap();
    second_end.send(()).unwrap();
    dropper.join().unwrap();
    assert_eq!(queue.state().waiting.len(), 0);
    assert_eq!((clients[0].answered(), clients[1].answered()), ("done".to_owned(), "done".to_owned()));
    assert!(clients[2].handle.is_empty(), "what waited has no answer");
}

#[test]
fn work_may_own_the_last_share_of_its_pool() {
    let pool = pool(1);
    let mut alone = Alone::new(&pool);
    let (task, begun, end) = gate();
    let queue = Arc::clone(&pool.queue);
    alone.ask(move || {
        let said = task();
        drop(pool);
        said
    });
    begun.recv().unwrap();
    end.send(()).unwrap();
    assert_eq!(alone.answered(), "done");
    assert!(queue.state().closing);
}
