/** A stop as by SIGTERM, for a server that must not go on; its exit code says so to the parent and to a service manager. */
export function stopWithExitCode(exitCode: number): void {
  process.exitCode = exitCode;
  process.kill(process.pid, 'SIGTERM');
}
