export class EtcdError extends Error {
  /** gRPC's. */
  readonly code: number;
  constructor(message: string, code: number) {
    super(message);
    this.name = 'EtcdError';
    this.code = code;
  }
}
