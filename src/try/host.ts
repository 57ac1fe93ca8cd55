import type { RecordsAt } from './dns.ts';
import type { FindSigner } from './echo.ts';
import type { PostForm } from './phone.ts';

/** What the parts ask the running server for. */
export interface TryHost {
  url(): string;
  recordsAt: RecordsAt;
  findSigner: FindSigner;
  post: PostForm;
}
