/**
 * A small server for one program: little memory, few processes, nothing on the network, every commit on disk. Passed on the command line,
 * so a new release's settings apply from its first start and no file of the cluster is edited.
 */
const settings: Record<string, string> = {
  cluster_name: 'quarterdeck',
  listen_addresses: '',
  port: '5432',
  unix_socket_permissions: '0700',
  // Each cluster with Kubernetes' own programs takes three, so a hundred clusters fit. Locks are counted for all connections together:
  // 9,600 in all. Against 100 connections with the usual 64 locks each that is 3 MiB more, used or not.
  max_connections: '400',
  max_locks_per_transaction: '24',
  max_pred_locks_per_transaction: '10',

  shared_buffers: '32MB',
  work_mem: '4MB',
  maintenance_work_mem: '32MB',
  huge_pages: 'off',
  jit: 'off',
  // Version 18's default keeps three idle I/O worker processes; on a local disk with a small cache they only cost memory.
  io_method: 'sync',
  max_worker_processes: '2',
  max_parallel_workers_per_gather: '0',
  max_parallel_maintenance_workers: '0',
  autovacuum: 'on',
  // A table that a burst makes a hundred times larger is planned for its old size until the next analyze.
  autovacuum_naptime: '15s',
  autovacuum_worker_slots: '2',
  autovacuum_max_workers: '2',

  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Nothing replicates from here: `admin backup` is the way out.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_replication_slots: '0',
  max_logical_replication_workers: '0',
  // Recovery after a kill replays at most this much, so it takes a second or two.
  max_wal_size: '256MB',
  min_wal_size: '64MB',

  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_min_messages: 'warning',
  // A statement or a DETAIL line can hold a tenant's data, and this log is not redacted.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  logging_collector: 'off',
};

export function serverArguments(cluster: string, socketDir: string, extra: Record<string, string> = {}): string[] {
  // The value is a list; quoted, a comma or a space in the path is only a character.
  const own = { unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"` };
  const all = Object.entries({ ...settings, ...extra, ...own });
  return ['-D', cluster, ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}
