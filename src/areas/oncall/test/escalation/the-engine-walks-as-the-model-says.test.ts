import { test } from 'node:test';
import { tellStories } from './tell-stories.ts';

// Some stories in every run; a campaign of its own tells many.
test('the pages match the model, whatever happens in between', { timeout: 300_000 }, (t) => tellStories(t, 8));
