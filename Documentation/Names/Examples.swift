// What the examples in the tables of this folder use without declaring it. `Scripts/snippets` compiles them with this file.

import CGTK
import Foundation
import WebImageGTK
import WebImageMap

@MainActor var request = WebImageRequest(url)
@MainActor let response: WebImageResponse = sample()
@MainActor let operation: WebImageOperation = sample()
@MainActor let error: WebImageError = sample()
@MainActor let key: ImageCacheKey = sample()

@MainActor var configuration = WebImageManager.Configuration()
@MainActor var downloads = ImageDownloader.Configuration()
@MainActor let downloader: ImageDownloader = sample()
@MainActor let prefetcher: ImagePrefetcher = sample()
@MainActor let batch: PrefetchBatch = sample()

@MainActor var cacheConfiguration = ImageCache.Configuration()
@MainActor var memoryConfiguration = MemoryCache<ImageCacheKey, Image>.Configuration()
@MainActor var diskConfiguration = DiskCache.Configuration()
@MainActor let memory: MemoryCache<ImageCacheKey, Image> = sample()
@MainActor let disk: DiskCache = sample()
@MainActor let entry: DiskCache.Entry = sample()
@MainActor let values: Cache<Data> = sample()

@MainActor let codecs: CodecRegistry = sample()
@MainActor var decoding = DecodingOptions()
@MainActor var encoding = EncodingOptions()
@MainActor let incremental: any IncrementalImageDecoder = sample()
@MainActor let animation: any AnimationSource = sample()
@MainActor let player: AnimationPlayer = sample()
@MainActor var frames = EncodableAnimation()

@MainActor let slot: ImageSlot = sample()
@MainActor let paintable: WebPaintable = sample()
@MainActor let marker: WebMarker = sample()
@MainActor var transition = ImageTransition()
