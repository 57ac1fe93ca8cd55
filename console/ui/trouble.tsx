import { sentenceOf } from '../data/api.ts';
import { isGone, type Reading } from '../data/query.ts';
import { Button } from './button.tsx';
import { Empty } from './empty.tsx';

/** What a screen shows while it has no data: that it loads, why it could not, or that the thing is gone. */
export function Waiting({ reading, what = 'this' }: { reading: Pick<Reading<unknown>, 'error' | 'again'>; what?: string }) {
  const { error, again } = reading;
  if (!error)
    return (
      <p class="faint loading" role="status">
        Loading …
      </p>
    );
  if (isGone(error)) return <Empty title={`There is no ${what} here`}>It was deleted, or the address is wrong: {sentenceOf(error)}.</Empty>;
  return <Trouble error={error} again={again} />;
}

export const Trouble = ({ error, again }: { error: unknown; again?: () => void }) => (
  <div class="note bad" role="alert">
    <p>{sentenceOf(error)}</p>
    {again && (
      <Button small onPress={again}>
        Try again
      </Button>
    )}
  </div>
);
