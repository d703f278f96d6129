# WEBIMAGE_WITHOUT=gtk,map,drawing,formats,server leaves out the views, their map, cairo, further formats, and webimage-server, here as in Package.swift. Each
# choice has its own build folder, so switching between them builds nothing twice.
comma := ,
scratch := .build$(addprefix /without-,$(subst $(comma),-,$(WEBIMAGE_WITHOUT)))
build := swift build --scratch-path $(scratch)
# Debug builds have names and lines for backtraces, but no descriptions of variables for the debugger, which take a tenth of the time to
# build the tests. Scripts read the variable too.
export WEBIMAGE_DEBUG_FLAGS := -Xswiftc -gline-tables-only
# Without a terminal, a build prints what is wrong only.
quiet := $(shell test -t 2 || echo --quiet)
build_debug = $(build) $(WEBIMAGE_DEBUG_FLAGS) $(quiet)
build_tests = $(build_debug) --build-tests

ifeq ($(findstring $(comma)gtk$(comma),$(comma)$(WEBIMAGE_WITHOUT)$(comma)),)
has_views := yes
headless := Scripts/headless
else
# Only the views' tests use XCTest.
test_flags := --disable-xctest
endif
has_server := $(if $(findstring $(comma)server$(comma),$(comma)$(WEBIMAGE_WITHOUT)$(comma)),,yes)

# The benchmarks of the views and of the transport are separate programs. Each program gets the names of its groups.
programs := Benchmarks TransportBenchmarks $(if $(has_views),GTKBenchmarks)
TransportBenchmarks_groups := $(filter transport,$(GROUP))
GTKBenchmarks_groups := $(if $(has_views),$(filter views %-views,$(GROUP)))
Benchmarks_groups := $(filter-out $(TransportBenchmarks_groups) $(GTKBenchmarks_groups),$(GROUP))
benchmarks := $(foreach program,$(programs),$(if $(GROUP),$(if $($(program)_groups),$(program)),$(program)))
peers := $(if $(filter TransportBenchmarks,$(benchmarks)),URLSessionClient) $(if $(filter GTKBenchmarks,$(benchmarks)),webimage-decoder)

.PHONY: help setup build gobject translations check-gobject install uninstall check-install deb check-deb check-container build-tests test test-renderer stress mutations build-tsan test-tsan test-asan faults build-time release-checks fuzz lint format pictures bench demo screenshots examples fleet docs snippets products test-install clean

help: ## List these targets.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

setup: ## Install the missing Debian or Ubuntu packages.
	@Scripts/setup

# The installed programs contain Swift's libraries, so that they run without the toolchain and after it is updated. SwiftPM builds all
# anew for this, so they have a folder of their own.
installable := $(scratch)/installable
build_static := swift build --scratch-path $(installable) -c release --static-swift-stdlib $(quiet) --product
build_installable = $(foreach product,webimage webimage-decoder $(if $(has_server),webimage-server) $(if $(has_views),Gallery),\
	$(build_static) $(product) &&) true
# libwebimage-gtk, for GTK programs in C, Python, JavaScript, Vala and others.
gobject := $(installable)/release/gobject
build_gobject = $(build_static) webimage-gtk && Scripts/introspection $(installable)/release $(gobject)
# Programs find their translations beside the folder that they are in.
build_all = $(build_installable) && Scripts/translations --compile $(installable)/release/../share/locale $(if $(has_views),&& $(build_gobject))
build_purposes := build $(if $(has_views),introspection)

build: ## Build webimage, webimage-server, the Gallery and libwebimage-gtk for installing.
	@Scripts/setup $(build_purposes)
	$(build_all)

gobject: ## Build libwebimage-gtk, its introspection data and its Vala interface only; QUICK=1 takes a debug build, which needs the toolchain to run.
	@Scripts/setup build introspection
	$(if $(QUICK),$(build_debug) --product webimage-gtk && Scripts/introspection $(scratch)/debug $(scratch)/debug/gobject,$(build_gobject))

translations: ## Collect the texts of programs into the templates of Packaging/translations, and merge them into its languages.
	@Scripts/translations --update

check-gobject: gobject ## Check libwebimage-gtk: symbols, tests in C and Python, valgrind, and the programs of Examples/Languages; QUICK=1 checks a debug build.
	@Scripts/setup languages
	@EXAMPLES=$(scratch) Scripts/headless Scripts/check-gobject $(if $(QUICK),$(scratch)/debug/gobject,$(gobject))

# The variables of the command line and of the environment, for Scripts/install.
export PREFIX DESTDIR HOMEPAGE SCREENSHOTS_URL
install: ## Install what `make build` built into PREFIX=… (/usr/local by default), below DESTDIR=… (empty by default).
	@Scripts/install $(installable)/release

uninstall: ## Remove what `make install` has installed, with the same PREFIX and DESTDIR.
	@Scripts/install --uninstall

check-install: ## Install into a temporary directory, check the files, and uninstall.
	@Scripts/setup $(build_purposes) test
	$(build_all)
	@Scripts/check-install $(installable)/release

# Packages are for the Debian that they are made on; `Scripts/on-debian 13 make deb` makes those for another. WEBIMAGE_WITHOUT=gtk,server leaves
# packages out.
packages := $(scratch)/deb
deb: ## Make Debian packages of the tool, the server, the Gallery, the decoder and libwebimage-gtk with debhelper, in .build/deb.
	@Scripts/setup $(build_purposes) deb
	$(build_all)
	@rm -rf $(packages) && mkdir -p $(packages)/source
	@cp -r Packaging/debian $(packages)/source
	@Scripts/version --debian >$(packages)/source/debian/changelog
	@sed -i "s/@MAINTAINER@/$$(Scripts/version --maintainer)/" $(packages)/source/debian/control
	@cd $(packages)/source && env -u MAKEFLAGS -u MAKELEVEL TOP=$(CURDIR) WEBIMAGE_WITHOUT=$(WEBIMAGE_WITHOUT) \
		DEB_BUILD_PROFILES="$(foreach part,$(filter gtk server,$(subst $(comma), ,$(WEBIMAGE_WITHOUT))),pkg.swift-web-image.no$(part))" \
		dpkg-buildpackage -b -us -uc
	@ls -l $(packages)/*.deb

check-deb: deb ## Check the packages with lintian, make them again and compare, and install, upgrade and purge them in a fresh root; QUICK=1 has lintian only.
	@Scripts/setup check-deb
	@Scripts/check-thumbnailer $(installable)/release
	@Scripts/check-deb $(if $(QUICK),--quick) $(packages)

check-container: ## Carry out the Dockerfiles in fresh roots, and run what they make; QUICK=1 takes the packages of `make deb` for the server and leaves the app out.
	@Scripts/setup check-deb
	@Scripts/check-container $(if $(QUICK),--packages server)

# One test at a time: in parallel, tests starve each other's servers on small machines. A test that takes longer than TEST_LIMIT
# seconds counts as hanging. Without FILTER, only failures and summaries are printed; the output is in files.
TEST_LIMIT ?= 300
limited = Scripts/with-time-limit $(TEST_LIMIT) $(if $(FILTER),,--logs $(scratch)/test-logs)
run_tests = $(limited) swift test --skip-build --no-parallel

# Tests that compute take half of the time, those that wait for servers, programs and windows the other half, so they run at the same
# time. The latter take precedence.
computing_tests := WebImage(Core|Coding|Formats|Processing|Drawing|Caching|Animation)Tests\.
program_tests := WebImage(CLI|Server|Service)Tests\.
isolation_tests := WebImageIsolationTests\.
# SwiftPM calls this program too, but loses output: it does not print a block of 4 KiB that ends within a character.
xctest = $(scratch)/debug/swift-web-imagePackageTests.xctest
swift_testing = $(xctest) --testing-library swift-testing --no-parallel
run_all_tests = $(limited) \
	nice $(swift_testing) --filter '$(computing_tests)' --- \
	$(if $(has_views),$(xctest) ---) \
	$(swift_testing) --filter '$(program_tests)' --- \
	$(swift_testing) --filter '$(isolation_tests)' --- \
	$(swift_testing) --skip '$(computing_tests)|$(program_tests)|$(isolation_tests)'

build-tests: ## Build all programs and tests for debugging.
	@Scripts/setup build test
	$(build_tests)

test: ## Build and run all tests; FILTER=… runs some.
	@Scripts/setup build test
	$(build_tests)
	GTK_A11Y=test $(headless) $(if $(FILTER),$(run_tests) --scratch-path $(scratch) $(test_flags) --filter '$(FILTER)',$(run_all_tests))

# Tests of animations, of what animations must not delay, and of whole windows.
renderer_tests := ApplyQueueTests|BusyWindowTests|IndicatorTests|TransitionTests|SetImageTests|PictureAnimationTests|TextureTests|WebPictureFactoryTests
test-renderer: ## Run the views' tests with GTK's default renderer; RENDERER=… names another, FILTER=… runs some.
	@Scripts/setup build test
	$(build_tests)
	RENDERER=$(or $(RENDERER),default) GTK_A11Y=test $(headless) $(run_tests) --scratch-path $(scratch) \
		--filter '(WebImageGTK|Gallery)Tests\.($(or $(FILTER),$(renderer_tests)))'

stress: TEST_LIMIT = 3600
stress: ## Load 100,000 times with random faults and cancellations, and check every result; stop a loaded server 2,000 times.
	@Scripts/setup build test
	$(build_tests)
	WEBIMAGE_STRESS_REQUESTS=100000 WEBIMAGE_STRESS_STOPS=2000 $(run_tests) --scratch-path $(scratch) --filter StressTests

COUNT ?= 100000
mutations: ## Decode COUNT=… files with random damage in decoder processes, and check that nothing of them remains; SEED=… makes others.
	@Scripts/setup build test
	$(build_static) MutatedFiles
	nice $(installable)/release/MutatedFiles $(COUNT) $(SEED)

# Some tests try to allocate more memory than exists.
tsan_flags := --scratch-path .build/tsan --sanitize thread
tsan_environment := WEBIMAGE_TSAN=1 WEBIMAGE_WITHOUT=gtk,drawing,formats,server WEBIMAGE_STRESS_REQUESTS=4000 \
	WEBIMAGE_TESTS=WebImageCoreTests,WebImageCachingTests,WebImageAnimationTests,WebImageLoadingTests,WebImageTests
# The skipped suites are slow and use one thread, or another process. Without a decoder process, managers decode themselves.
tsan_tests := $(if $(FILTER),--filter '$(FILTER)',--filter 'WebImage(Core|Caching|Animation|Loading|)Tests' \
	--skip '(Isolation|CacheKey|CacheProperty|DiskCacheKill|DiskCacheLRU|DiskCacheModel|PolicyProperty|ResumingTask)Tests')
tsan_build = $(tsan_environment) swift build $(tsan_flags) $(WEBIMAGE_DEBUG_FLAGS) $(quiet) --build-tests
# Results are printed in blocks of 4 KiB, so that a limit covers several tests.
build-tsan: ## Build what `make test-tsan` runs.
	@Scripts/setup build test
	$(tsan_build)

test-tsan: TEST_LIMIT = 600
test-tsan: ## Run the tests that use threads under ThreadSanitizer; FILTER=… runs some.
	@Scripts/setup build test
	$(tsan_build)
	$(tsan_environment) TSAN_OPTIONS='allocator_may_return_null=1 exitcode=66 suppressions=$(CURDIR)/Tests/thread-sanitizer.supp' \
		$(run_tests) $(tsan_flags) --disable-xctest $(tsan_tests)

# Memory errors that the transport causes in libcurl, which is not instrumented itself: malloc, free and memcpy are checked. The skipped
# test measures memory, which AddressSanitizer does not free.
asan_flags := --scratch-path .build/asan --sanitize address
asan_environment := WEBIMAGE_WITHOUT=gtk,drawing,formats,server WEBIMAGE_TESTS=WebImageLoadingTests,WebImageTests
asan_suites := ConnectionReuse|BodyEnd|Download|HopCancellation|Redirect|Certificate|CookieJar|Challenge|Proxy|HTTPVersion|ContentCoding|Method
asan_filter := $(or $(FILTER),WebImageLoadingTests\.($(asan_suites))Tests|FaultTableTests)
test-asan: ## Run the transport's tests under AddressSanitizer; FILTER=… runs some.
	@Scripts/setup build test
	$(asan_environment) swift build $(asan_flags) $(WEBIMAGE_DEBUG_FLAGS) $(quiet) --build-tests
	$(asan_environment) ASAN_OPTIONS='allocator_may_return_null=1 detect_leaks=0 exitcode=66' \
		$(run_tests) $(asan_flags) --disable-xctest --filter '$(asan_filter)' --skip aDecompressionBombStopsAtTheLimitOfDecodedBytes

faults: ## Plant each fault of Tests/Faults in a copy, and print those that no test notices; NAME=… selects some, QUICK=1 plants every tenth.
	@Scripts/setup build test introspection
	@Scripts/faults $(NAME)

build-time: ## Measure a clean release build of the product WebImage, by module.
	@Scripts/setup build
	@Scripts/build-time

# What takes too long for each change. CI has short forms of most.
release-checks: ## Run the checks of a release, which take hours: sanitizers, fuzzing, damaged files, servers that are killed, packages in fresh roots.
	WEBIMAGE_RELEASE_CHECKS=1 $(MAKE) test
	$(MAKE) test-renderer
	$(MAKE) test-tsan
	$(MAKE) test-asan
	$(MAKE) stress
	$(MAKE) fuzz
	$(MAKE) mutations
	$(MAKE) fleet
	$(MAKE) faults QUICK=1
	$(MAKE) check-gobject
	$(MAKE) check-deb
	$(MAKE) check-container
	$(MAKE) test WEBIMAGE_WITHOUT=gtk,drawing,formats FILTER='WebImage(Isolation|Shared|CLI|)Tests\.'
	$(MAKE) check-install WEBIMAGE_WITHOUT=gtk,drawing,formats

SECONDS ?= 60
fuzz: ## Look for inputs that break a decoder, for SECONDS=… each; TARGET=… names one, such as FuzzPNG.
	@Scripts/setup build
	Fuzzing/run $(SECONDS) $(TARGET)

lint: ## Check layout, tables and scripts, that all code has callers, and that the public interface is the listed one.
	@Scripts/setup build
	@Scripts/lint

format: ## Format all sources.
	swift format --in-place --parallel --recursive Package.swift Sources Tests Benchmarks Examples Fuzzing/Package.swift Fuzzing/Sources

pictures: ## Generate Documentation/Processing.md and its images.
	@Scripts/setup build test
	$(build_tests)
	WEBIMAGE_PICTURES=1 $(run_tests) --scratch-path $(scratch) --disable-xctest --filter ProcessingPageTests

bench: ## Compare with other libraries, and write Documentation/Benchmarks.md; GROUP=… selects groups, QUICK=1 is shorter, neither writes.
	@Scripts/setup build test bench
	@for program in $(benchmarks) $(peers); do WEBIMAGE_WITH=benchmarks $(build_static) $$program || exit; done
	@rm -f $(scratch)/benchmarks.txt
	@bash -o pipefail -c '$(foreach program,$(benchmarks),$(headless) $(installable)/release/$(program) $($(program)_groups) | tee -a $(scratch)/benchmarks.txt || exit;)'
	@$(if $(GROUP)$(QUICK),,Scripts/benchmark-page $(scratch)/benchmarks.txt >Documentation/Benchmarks.md)

# A debug build, which `make test` goes on with, is ready in half the time of a release build. The demo needs neither the server nor drawing.
demo: ## Show photographs from a local server, first cold, then from disk.
	@WEBIMAGE_WITHOUT=$(WEBIMAGE_WITHOUT),server,drawing Scripts/setup build demo
	@for product in webimage-decoder $(if $(has_views),Gallery,webimage); do $(build_debug) --product $$product || exit; done
	@Demo/run $(scratch)/debug

# Screenshots show photographs of a package. Those of the documents are published, so they show landscapes; the program that paints these is in
# the history.
painter := 1907d34f
landscapes := .build/landscapes
$(landscapes):
	@Scripts/setup screenshots
	@rm -rf $@ $@.new && mkdir -p $@.new/painter
	@git archive $(painter) Scripts/landscapes Scripts/painting.py Scripts/scenery.py | tar --extract --directory $@.new/painter
	@$@.new/painter/Scripts/landscapes $@.new && rm -r $@.new/painter && mv $@.new $@

SCREENSHOTS ?= .build/screenshots
screenshots: $(if $(DOCUMENTS),$(landscapes)) ## Take screenshots of each page of the Gallery under Xvfb: 1280×900 and 480×700, light and dark, into SCREENSHOTS=…; QUICK=1 takes few, DOCUMENTS=1 the pictures of the documents.
	@Scripts/setup build screenshots
	@for product in Gallery webimage-decoder; do \
		$(if $(QUICK),$(build_debug),$(build) -c release) --product $$product || exit; done
	@Scripts/screenshots $(scratch)/$(if $(QUICK),debug,release)/Gallery $(if $(DOCUMENTS),$(landscapes),/usr/share/backgrounds/mate) \
		$(if $(DOCUMENTS),Documentation/Images --documents,$(SCREENSHOTS) $(if $(QUICK),--quick)) $(SCREENSHOT_OPTIONS)

examples: ## Build the examples as a separate package, and check what they do.
	@Scripts/setup build demo
	@Examples/run $(scratch)

REQUESTS ?= 20000
fleet: ## Load REQUESTS=… thumbnails from three servers and a store that are killed at random, and check each; SEED=… repeats a run.
	@Scripts/setup build test
	$(build_debug) --product webimage-decoder
	$(build_debug) --product webimage-server
	@Examples/Fleet/soak $(scratch)/debug/webimage-server $(REQUESTS) $(if $(SEED),500 $(SEED))

docs: ## Build the documentation site in .build/docs.
	@Scripts/setup $(build_purposes)
	@Scripts/docs
ifdef has_views
	@$(MAKE) --no-print-directory gobject QUICK=1
	@gi-docgen generate --quiet --fatal-warnings --config Packaging/gobject/reference.toml --output-dir .build/docs \
		$(scratch)/debug/gobject/share/gir-1.0/WebImage-1.0.gir
endif

snippets: ## Compile the code blocks of the README, the guides and doc comments.
	@Scripts/setup build
	@Scripts/snippets

products: ## Build each product alone from another package.
	@Scripts/setup build
	@Scripts/products $(scratch)

test-install: ## Paste the install snippets and programs into fresh packages, and build and run them.
	@Scripts/setup build test
	@Scripts/test-install

clean: ## Remove build products.
	rm -rf .build Demo/Output Examples/.build Fuzzing/.build
